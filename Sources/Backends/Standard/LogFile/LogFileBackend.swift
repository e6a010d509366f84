import BackendConfiguration
public import IndicatorCore
import Foundation
public import Logging

/// Writes a line to a file whenever the indicator is shown or hidden, its label changes while it is visible, or an
/// activity ends.
///
/// ### Lines
///
/// As JSON:
///
///     {"time":"2026-03-01T12:00:00.000000Z","event":"shown","state":"active","visible":true,"count":1,"label":"GET /",
///      "progress":0.4,"app":"my-app","pid":4242}
///
/// (on one line). `event` is one of ``Settings/events``: by default `shown`, `hidden`, `label` (at most ten a second),
/// or `finished` for an activity with a label that has ended. `label` and `progress` are omitted if there is none;
/// `progress` has at most 4 decimal places. `time` is the time of the event in UTC, even if the line was written later.
/// It does not decrease from one line of a backend to the next, unless the clock was set back by more than a second.
/// Instead of the indicator's state, a line of `finished` has the outcome (`unspecified`, `succeeded`, `failed`,
/// `cancelled`), the duration, and the message of a failure:
///
///     {"time":"…","event":"finished","label":"GET /","outcome":"failed","seconds":1.25,"message":"HTTP 503",…}
///
/// As text:
///
///     2026-03-01T12:00:00.000000Z my-app[4242] shown state=active visible=true count=1 progress=0.4 label="GET /"
///
/// A label is quoted and escaped, so that it cannot imitate a line or contain control sequences, and truncated so that
/// a line has at most 4096 bytes.
///
/// ### The file
///
/// - Created with mode 0600, missing folders with 0700. An existing file keeps its mode.
/// - Several processes, and several backends of one process, can share it. They should have the same `maxSize` and
///   `keep`.
/// - Rotated when it is full, and opened again after rotation by another program: `logrotate` needs no `postrotate`
///   script. With `compress`, use `delaycompress` too.
/// - The new file after a rotation has the group and mode that the full one has then, and the owner if the app runs as
///   root; otherwise it belongs to the user of the app. If that user is not in the group, the group may do what all
///   may. On a file system without locks (flock(2)), it is not rotated.
/// - A regular file, a character device such as `/dev/null`, or `/dev/stdout` and `/dev/stderr` of any type. Other
///   symbolic links are refused.
/// - In a folder that other users can write, a file that has a second name is refused, and one that belongs to another
///   user, unless only one group can write the folder, and the file belongs to that group and lets it write.
/// - Lines survive the end of the process. They are not synced to the disk, so the last ones may be lost in a power
///   failure.
///
/// ### When a line cannot be written
///
/// It is lost. The backend's status reports it, and the manager restarts the backend periodically. What is shown and
/// hidden meanwhile, and what ends, is written then: 64, failures first; more are lost. The first line that can be
/// written again reports how many were (`time` and `since` are the times of the last and the first of them); how many
/// were lost until the backend stops is logged:
///
///     {"time":"…","event":"lost","count":12,"since":"…","app":"my-app","pid":4242}
public final class LogFileBackend: IndicatorBackend {
    /// What outlasts the use of a file.
    private struct State {
        var transitions = LogTransitions()
        /// The lines that could not be written, and were not reported yet.
        var loss: (count: Int, since: LogTimestamp, until: LogTimestamp)?
        /// How many of them are in the app's log.
        var loggedLosses = 0
        /// The time of the previous line.
        var latest: LogTimestamp?

        mutating func lose(_ count: Int, at time: LogTimestamp) {
            loss = ((loss?.count ?? 0) + count, loss?.since ?? time, time)
        }
    }

    /// The name that the config file and the diagnostics use.
    public let name: String
    /// The settings that the backend was made with.
    package let settings: Settings

    private let applicationName: String
    private let logger: Logger
    private let formatter: LogLineFormatter
    private let state = Locked(State())

    /// Makes a backend. Nothing is opened.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app, for the lines and for the default path.
    ///   - settings: the location and format of the log.
    ///   - logger: where warnings about the file go, and reports of lines that were lost.
    public init(
        name: String = "logFile",
        applicationName: String,
        settings: Settings = Settings(),
        logger: Logger = Logger(label: "IndicatorBackends.LogFile")
    ) {
        self.name = name
        self.settings = settings
        self.applicationName = applicationName
        self.logger = logger
        formatter = LogLineFormatter(format: settings.format, applicationName: applicationName)
    }

    /// The latest snapshot; also while hidden, when activities may end.
    public var delivery: BackendDelivery {
        BackendDelivery(includesHidden: settings.events.contains(.finished), target: (try? path())?.description)
    }

    private func path() throws(Unavailability) -> LogFilePath {
        try LogFilePath(settings.path, applicationName: applicationName)
    }

    /// Writes the lines for each update, and for what was skipped before it, to the file, which is created if it is
    /// missing. One that cannot be written counts as lost.
    ///
    /// - Throws: an error with the path, what is wrong and what to do.
    public func show(_ updates: IndicatorUpdates) async throws {
        var file = LogFile(path: try path(), maxSize: settings.maxSize, keep: settings.keep)
        defer { logLoss() }
        try change(&file) { file, _ throws(Unavailability) in try file.open() }
        do { try change(&file, reportLoss) } catch {
            // At the end, the lines that are left are lost, too, and counted below.
            guard updates.isEnding else { throw error }
        }
        for await update in updates {
            do throws(Unavailability) {
                try change(&file) { file, state throws(Unavailability) in try write(update, to: &file, &state) }
            } catch {
                // What could not be written counts as lost.
                updates.consume()
                throw error
            }
        }
    }

    private func write(_ update: IndicatorUpdate, to file: inout LogFile, _ state: inout State) throws(Unavailability) {
        if let next = update.transitions.first, update.omittedTransitions > 0 {
            state.lose(update.omittedTransitions, at: Self.time(of: next.since, after: state.latest))
            state.transitions.isUncertain = true
        }
        // Each step has its own lines: only what a step omits has none.
        let omitted = update.steps.reduce(0) { $0 + $1.omittedFinished }
        if omitted > 0, settings.events.contains(.finished),
            let next = update.steps.first(where: { $0.omittedFinished > 0 })?.finished.first
        {
            state.lose(omitted, at: Self.time(of: next.date, after: state.latest))
        }
        var failure: Unavailability?
        for step in update.steps {
            for (event, date, finished) in occurrences(in: step, &state) where settings.events.contains(event) {
                let time = Self.time(of: date, after: state.latest)
                state.latest = time
                do throws(Unavailability) {
                    try reportLoss(to: &file, &state)
                    try file.append(formatter.line(event, at: time, of: step.snapshot, finished: finished))
                } catch {
                    failure = error
                    state.lose(1, at: time)
                    state.transitions.isUncertain = true
                }
            }
        }
        if let failure { throw failure }
    }

    /// Logs how many lines were lost since the last time.
    private func logLoss() {
        let losses = state.withLock { state in
            let count = state.loss?.count ?? 0
            return count - exchange(&state.loggedLosses, with: count)
        }
        if losses > 0 { logger.error("'\(name)': \(losses == 1 ? "1 line was" : "\(losses) lines were") lost") }
    }

    /// Changes the file, then logs a new rotation failure without holding the lock.
    private func change(
        _ file: inout LogFile,
        _ body: (inout LogFile, inout State) throws(Unavailability) -> Void
    ) throws(Unavailability) {
        let before = file.rotationFailure
        defer {
            if let warning = file.rotationFailure, warning != before {
                logger.warning("\(warning)", metadata: ["backend": "\(name)"])
            }
        }
        try state.withLock { state throws(Unavailability) in try body(&file, &state) }
    }

    private func reportLoss(to file: inout LogFile, _ state: inout State) throws(Unavailability) {
        guard let loss = state.loss else { return }
        try file.append(formatter.line(lost: loss.count, since: loss.since, until: loss.until))
        (state.loss, state.loggedLosses) = (nil, 0)
    }

    /// The time of a line: that of the event, but not before the previous line, unless the clock was set back.
    private static func time(of date: Date, after latest: LogTimestamp?) -> LogTimestamp {
        let time = LogTimestamp(date)
        guard let latest, time < latest, latest.microseconds - time.microseconds <= 1_000_000 else { return time }
        return latest
    }

    /// The events since the previous snapshot, in order.
    private func occurrences(
        in update: IndicatorUpdate,
        _ state: inout State
    ) -> [(event: Event, date: Date, finished: FinishedActivity?)] {
        let snapshot = update.snapshot
        let event = state.transitions.event(for: snapshot)
        var occurrences: [(Event, Date, FinishedActivity?)] = []
        func add(_ activity: FinishedActivity) { occurrences.append((.finished, activity.date, activity)) }
        var finished = update.finished[...]
        if let event, event != .label {
            for activity in finished.prefix(while: { event == .hidden || $0.date < snapshot.since }) {
                add(activity)
                finished.removeFirst()
            }
            occurrences.append((event, snapshot.since, nil))
        }
        for activity in finished { add(activity) }
        if event == .label { occurrences.append((.label, snapshot.labelSince, nil)) }
        return occurrences
    }
}

extension LogFileBackend {
    /// The events that get a line.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        /// The indicator was shown.
        case shown
        /// The indicator was hidden.
        case hidden
        /// The label changed while the indicator was visible.
        case label
        /// An activity with a label has ended, also one that was too short to be shown.
        case finished
    }

    /// The format of the lines.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// A JSON object per line (JSON Lines).
        case json
        /// Words and `key=value` pairs, for human readers.
        case text
    }

    /// The location and format of the log.
    public struct Settings: Sendable, Hashable {
        /// The path of the file. A relative one is resolved against the current folder when the backend starts; a
        /// leading `~/` is the home folder.
        ///
        /// Default `nil`: `$XDG_STATE_HOME/<app>/indicator.log`, or `~/.local/state/<app>/indicator.log`.
        public var path: String?
        /// The format of the lines. Default JSON.
        public var format: Format
        /// The size limit of the file in bytes: a line that would exceed it goes to a new file. 0 means no limit.
        /// Default 10 MiB.
        public var maxSize: Int
        /// How many rotated files are kept, as `indicator.log.1` (the latest), `indicator.log.2` and so on. With 0, a
        /// full file is removed. Default 3.
        public var keep: Int
        /// The events that get a line. Default: all.
        public var events: Set<Event>

        /// Makes settings. Negative numbers count as 0.
        public init(
            path: String? = nil,
            format: Format = .json,
            maxSize: Int = 10 << 20,
            keep: Int = 3,
            events: Set<Event> = [.shown, .hidden, .label, .finished]
        ) {
            self.path = path
            self.events = events
            self.format = format
            self.maxSize = max(0, maxSize)
            self.keep = max(0, keep)
        }
    }
}

/// Decides which snapshots get a line: the indicator was shown or hidden, or its label changed while it was visible.
struct LogTransitions: Sendable {
    private var isVisible = false
    private var period: Int?
    private var label: String?
    /// Whether lines were lost. Then the next snapshot is an event in any case: the log has the current state again.
    var isUncertain = false

    /// The event since the previous snapshot; `nil` if there is nothing to log.
    ///
    /// If the visibility is the same as before but of another period, snapshots in between were dropped. This is an
    /// event too, so that the log does not suggest that nothing changed.
    mutating func event(for snapshot: IndicatorSnapshot) -> LogFileBackend.Event? {
        let before = self
        (isVisible, period, label) = (snapshot.isVisible, snapshot.period, snapshot.label)
        isUncertain = false
        guard !before.isUncertain, before.isVisible == isVisible, before.period == nil || before.period == period else {
            return isVisible ? .shown : .hidden
        }
        return isVisible && before.label != label ? .label : nil
    }
}
