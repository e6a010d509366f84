package import IndicatorCore

/// What a line of the log tells of.
package struct LogRecord: Sendable, Hashable {
    /// What happened.
    package enum Event: String, Sendable {
        /// The indicator was shown.
        case shown
        /// The indicator was hidden.
        case hidden
        /// The label changed while the indicator was visible.
        case label
    }

    package var time: LogTimestamp
    package var event: Event
    package var state: IndicatorState
    package var activityCount: Int
    package var label: String?
    package var progress: Double?
    package var processID: Int32

    package init(time: LogTimestamp, event: Event, snapshot: IndicatorSnapshot, processID: Int32) {
        self.time = time
        self.event = event
        state = snapshot.state
        activityCount = snapshot.activityCount
        label = snapshot.label
        progress = snapshot.progress
        self.processID = processID
    }
}

/// Lines that were never written, because there was no space for them and then no room to keep them waiting.
package struct LogLoss: Sendable, Hashable {
    /// How many lines.
    package var count: Int
    /// The time of the first of them.
    package var first: LogTimestamp
    /// The time of the last of them.
    package var last: LogTimestamp
}
