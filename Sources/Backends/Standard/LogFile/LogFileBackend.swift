import BackendConfiguration
import DisplayText
import Foundation
public import IndicatorCore
import IndicatorThreads
public import Logging

/// Writes a line to a file whenever the indicator is shown or hidden, or its label changes while it is visible. Can
/// also record the work itself: a line whenever an activity with a label begins or ends.
///
/// ### Lines
///
/// As JSON:
///
///     {"time":"2026-03-01T12:00:00.000000Z","event":"shown","state":"active","visible":true,"count":1,"label":"GET /",
///      "progress":0.4,"app":"my-app","pid":4242}
///
/// (on one line). `event` is one of ``Settings/events``: by default `shown`, `hidden`, `label` (at most once a second),
/// or `finished` for an activity with a label that has ended. `label` and `progress` are omitted if there is none;
/// `progress` has at most 4 decimal places. `time` is the time of the event in UTC, even if the line was written later.
/// It never decreases from one line of a backend to the next. Instead of the indicator's state, a line of `finished`
/// has the outcome (`unspecified`, `succeeded`, `failed`, `cancelled`), the duration, and the message of a failure:
///
///     {"time":"…","event":"finished","label":"GET /","outcome":"failed","seconds":1.25,"message":"HTTP 503",…}
///
/// A line of `end` is the same, for every activity with a label, even while the indicator is hidden; a line of `begin`
/// has only the label. These lines are written within a tenth of a second. If more than 16 activities are in progress,
/// the `begin` of the latest ones may be written when they end, with a time that is not before the previous line's. If
/// more than 64 end within that tenth, a line of `lost` counts the others.
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
/// - The new file after a rotation has the same owner, group and mode.
/// - A regular file, a FIFO with a reader, a character device such as `/dev/null`, or `/dev/stdout` and `/dev/stderr`
///   of any type. Other symbolic links are refused.
/// - In a folder that other users can write, a file that belongs to another user or has a second name is refused.
/// - Lines survive the end of the process. They are not synced to the disk, so the last ones may be lost in a power
///   failure.
///
/// ### When the file cannot be written
///
/// ``update(_:)`` throws, so that the backend's status reports it, and the manager restarts the backend periodically.
/// While the disk is full, up to 1 MiB of lines wait in memory; beyond that the oldest are lost. When there is space,
/// the lines are written, and a line reports how many were lost (`time` and `since` are the times of the last and the
/// first of them):
///
///     {"time":"…","event":"lost","count":12,"since":"…","app":"my-app","pid":4242}
public final class LogFileBackend: IndicatorBackend {
    private struct State {
        var transitions = LogTransitions()
        var pending: PendingLines
        var writer: LogWriter?
        var isStarted = false
        /// Why lines are waiting; `nil` if none is.
        var outage: String?
        /// The rotation failure that was logged last.
        var rotationFailure: String?
        /// The time of the previous line.
        var latest: LogTimestamp?
        /// The activities in progress with a line of ``Event/begin``.
        var begun: Set<UInt64> = []
        /// The previous snapshot, without finished activities, for a delayed label.
        var snapshot: IndicatorSnapshot?
        /// The earliest time of the next line of ``Event/label``.
        var nextLabel = Int64.min
        /// Whether a call is scheduled for that time.
        var isLabelDue = false
    }

    /// The largest size of ``State/begun``.
    private static let largestNumberOfBegun = 1024

    /// The name that the config file and the diagnostics use.
    public let name: String
    /// The settings that the backend was made with.
    package let settings: Settings

    private let applicationName: String
    private let logger: Logger
    private let dependencies: Dependencies
    private let formatter: LogLineFormatter
    private let state: Locked<State>
    /// Writes delayed labels. Ends when there are none.
    private let labelThread = ServiceThread(name: "log-labels", idleTime: .zero)

    /// Makes a backend. Nothing is opened before ``start()``.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app, for the lines and for the default path.
    ///   - settings: the location and format of the log.
    ///   - logger: where warnings about the file go, and reports of lines that were lost.
    public convenience init(
        name: String = "logFile",
        applicationName: String,
        settings: Settings = Settings(),
        logger: Logger = Logger(label: "IndicatorBackends.LogFile")
    ) {
        self.init(
            name: name,
            applicationName: applicationName,
            settings: settings,
            logger: logger,
            dependencies: Dependencies()
        )
    }

    init(
        name: String = "logFile",
        applicationName: String,
        settings: Settings,
        logger: Logger = Logger(label: "IndicatorBackends.LogFile"),
        dependencies: Dependencies
    ) {
        self.name = name
        self.settings = settings
        self.applicationName = applicationName
        self.logger = logger
        self.dependencies = dependencies
        formatter = LogLineFormatter(format: settings.format, applicationName: applicationName)
        state = Locked(State(pending: PendingLines(limit: dependencies.pendingBytes)))
    }

    deinit {
        // The backend was stopped while the file could not be written, and not started again.
        let message = state.withLock { Self.dropAll(&$0) }
        if let message { logger.error("\(message)") }
    }

    /// Every transition, in order; with ``Event/begin`` or ``Event/end``, also changes while the indicator is hidden.
    public var delivery: BackendDelivery {
        var delivery = BackendDelivery.everyTransition
        delivery.includesHidden = isRecord
        return delivery
    }

    /// Whether the log records all activities.
    private var isRecord: Bool { !settings.events.isDisjoint(with: [.begin, .end]) }

    /// Opens the file, creates it if it is missing, and writes the waiting lines.
    ///
    /// - Throws: an error with the path, what is wrong and what to do.
    public func start() async throws {
        let path = try LogFilePath(
            settings.path,
            applicationName: applicationName,
            environment: dependencies.environment
        )
        if path.isRelative {
            logger.warning(
                "log file '\(settings.path ?? "")' is '\(path)': set 'path' to one that begins with '/' or '~/'"
            )
        }
        try change { state throws(LogFileError) in
            if state.outage == nil || state.writer?.path != path {
                state.writer = LogWriter(
                    path: path,
                    maxSize: settings.maxSize,
                    keep: settings.keep,
                    replacementGrace: dependencies.replacementGrace
                )
            }
            try state.writer?.open()
            state.isStarted = true
            do throws(LogFileError) {
                try flush(&state, timeLimit: Self.lockLimit)
            } catch {
                state.isStarted = false
                state.writer?.release()
                throw error
            }
        }
    }

    /// Writes the lines for this snapshot.
    ///
    /// - Throws: while lines are waiting, because the disk is full or the path can no longer be a log.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        defer { scheduleLabel() }
        try change { state throws(LogFileError) in
            add(snapshot, &state)
            try flush(&state, timeLimit: Self.lockLimit)
        }
    }

    /// Writes the waiting lines if possible, and closes the file.
    ///
    /// After an update that threw, the lines wait for the next start.
    public func stop() async {
        let message = state.withLock { state -> String? in
            defer {
                state.isStarted = false
                state.writer?.release()
            }
            guard state.outage == nil else { return nil }
            try? flush(&state, timeLimit: dependencies.lockLimitAtStop)
            guard state.outage != nil else { return nil }
            // After another start, the loss and the current state are reported.
            state.transitions.forget()
            defer {
                state.writer?.close()
                state.outage = nil
            }
            return Self.dropAll(&state)
        }
        if let message { logger.error("\(message)") }
    }

    // MARK: Writing

    /// How long an update waits for other processes that hold the lock. They hold it during a write.
    private static let lockLimit = Duration.milliseconds(200)

    /// Changes the state, then logs a new rotation failure without holding the lock.
    private func change(_ body: (inout State) throws(LogFileError) -> Void) throws(LogFileError) {
        let (warning, failure) = state.withLock { state -> (String?, LogFileError?) in
            let before = state.rotationFailure
            var failure: LogFileError?
            do throws(LogFileError) { try body(&state) } catch { failure = error }
            return (state.rotationFailure == before ? nil : state.rotationFailure, failure)
        }
        if let warning { logger.warning("\(warning)") }
        if let failure { throw failure }
    }

    /// An event to log.
    private typealias Occurrence = (event: Event, date: Date, activity: LogRecord.Activity?)

    /// Appends the lines for everything since the previous snapshot to those that wait.
    private func add(_ snapshot: IndicatorSnapshot, _ state: inout State) {
        let now = dependencies.now()
        let event = state.transitions.event(for: snapshot, mayReportLabel: now >= state.nextLabel)
        if event == .label { state.nextLabel = now + dependencies.labelInterval }
        state.snapshot = snapshot.withoutFinished
        if isRecord, snapshot.omittedFinishedCount > 0, let first = snapshot.finished.first {
            let time = max(LogTimestamp(first.date), state.latest ?? LogTimestamp(first.date))
            let loss = LogLoss(count: snapshot.omittedFinishedCount, first: state.latest ?? time, last: time)
            let line = formatter.line(for: loss, processID: dependencies.processID())
            state.pending.append(PendingLines.Line(bytes: line, time: time))
        }
        var occurrences = occurrences(in: snapshot, event)
        if isRecord {
            occurrences = beginnings(in: snapshot, &state.begun) + occurrences
            // A stable sort: events with the same date keep their order.
            occurrences = occurrences.enumerated()
                .sorted { ($0.element.date, $0.offset) < ($1.element.date, $1.offset) }.map(\.element)
        }
        for (event, date, activity) in occurrences where settings.events.contains(event) {
            // Never before the previous line: the wall clock may be set back.
            let time = max(LogTimestamp(date), state.latest ?? LogTimestamp(date))
            state.latest = time
            let record = LogRecord(
                time: time,
                event: event,
                snapshot: snapshot,
                activity: activity,
                processID: dependencies.processID()
            )
            state.pending.append(PendingLines.Line(bytes: formatter.line(for: record), time: time))
        }
    }

    /// The events since the previous snapshot, in order, except beginnings.
    private func occurrences(in snapshot: IndicatorSnapshot, _ event: Event?) -> [Occurrence] {
        var occurrences: [Occurrence] = []
        func add(_ activity: FinishedActivity) {
            occurrences.append((.end, activity.date, .finished(activity)))
            // What ended while the indicator was hidden was not shown.
            let wasHidden = event == .shown ? activity.date < snapshot.since : event != .hidden && !snapshot.isVisible
            if !wasHidden { occurrences.append((.finished, activity.date, .finished(activity))) }
        }
        var finished = snapshot.finished[...]
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

    /// The beginnings of activities that do not have a line yet.
    private func beginnings(in snapshot: IndicatorSnapshot, _ begun: inout Set<UInt64>) -> [Occurrence] {
        var beginnings: [Occurrence] = []
        for activity in snapshot.finished where begun.remove(activity.id) == nil {
            let began = activity.date.addingTimeInterval(-(activity.duration / .seconds(1)))
            beginnings.append((.begin, began, .begun(label: activity.label)))
        }
        for activity in snapshot.activities {
            guard let label = activity.label, begun.insert(activity.id).inserted else { continue }
            beginnings.append((.begin, activity.since, .begun(label: label)))
        }
        // The snapshots did not list the ends of some.
        if begun.count > Self.largestNumberOfBegun { begun.formIntersection(snapshot.activities.map(\.id)) }
        return beginnings
    }

    /// Schedules the writing of a delayed label, if it is still current by then.
    private func scheduleLabel() {
        let due: Int64? = state.withLock { state in
            guard settings.events.contains(.label), !state.isLabelDue, let snapshot = state.snapshot,
                state.transitions.lacksLabel(of: snapshot)
            else { return nil }
            state.isLabelDue = true
            return state.nextLabel
        }
        if let due { dependencies.call(labelThread, due) { [weak self] in self?.writeLabel() } }
    }

    private func writeLabel() {
        // The next update reports why it cannot be written.
        try? change { state throws(LogFileError) in
            state.isLabelDue = false
            guard state.isStarted, let snapshot = state.snapshot else { return }
            add(snapshot, &state)
            try flush(&state, timeLimit: Self.lockLimit)
        }
    }

    /// Writes the waiting lines; throws if some still wait.
    private func flush(_ state: inout State, timeLimit: Duration) throws(LogFileError) {
        guard state.isStarted, var writer = state.writer else { return }
        // Moved out and back, so that it is not copied.
        state.writer = nil
        defer {
            state.rotationFailure = writer.rotationFailure
            state.writer = writer
        }
        do throws(LogWriteFailure) {
            while true {
                if let loss = state.pending.loss {
                    let line = formatter.line(for: loss, processID: dependencies.processID())
                    try writer.append(line, timeLimit: timeLimit)
                    state.pending.clearLoss()
                } else if let line = state.pending.first {
                    try writer.append(line.bytes, timeLimit: timeLimit)
                    state.pending.removeFirst()
                } else {
                    try writer.finish(timeLimit: timeLimit)
                    break
                }
            }
            state.outage = nil
        } catch {
            state.outage = error.reason
            switch error {
            case .refused(let error): throw error
            case .waiting(let reason): throw .waiting(path: writer.path.description, reason: reason)
            }
        }
    }

    /// Drops the waiting lines. Returns a message if there were any.
    private static func dropAll(_ state: inout State) -> String? {
        state.pending.dropAll()
        let lost = (state.pending.loss?.count ?? 0) + (state.writer?.hasUnfinishedLine == true ? 1 : 0)
        guard lost > 0, let reason = state.outage, let path = state.writer?.path else { return nil }
        return "log file '\(path)': \(lost == 1 ? "1 line" : "\(lost) lines") lost: \(reason)"
    }
}

extension LogFileBackend {
    /// The events that get a line.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        /// The indicator was shown.
        case shown
        /// The indicator was hidden.
        case hidden
        /// The label changed while the indicator was visible; at most one line a second.
        case label
        /// An activity with a label has ended; reported while the indicator is visible.
        case finished
        /// An activity with a label has begun, or an activity was given its first label.
        case begin
        /// An activity with a label has ended, whether or not the indicator is shown.
        case end
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
        /// The events that get a line. Default: what the user has seen, ``Event/shown``, ``Event/hidden``,
        /// ``Event/label`` and ``Event/finished``.
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

extension LogFileBackend {
    /// What the backend takes from its environment, replaceable in tests.
    struct Dependencies: Sendable {
        /// The environment variables.
        var environment: [String: String]
        /// The process ID for the lines. Called for each line: it changes when a daemon forks.
        var processID: @Sendable () -> Int32
        /// The limit in bytes of waiting lines.
        var pendingBytes: Int
        /// How long ``stop()`` waits for other processes that hold the lock.
        var lockLimitAtStop: Duration
        /// How long a renamed file is still written while its path is free.
        var replacementGrace: Duration
        /// The shortest time between two lines of ``Event/label``, in nanoseconds.
        var labelInterval: Int64 = 1_000_000_000
        /// The time, in nanoseconds.
        var now: @Sendable () -> Int64 = { ServiceThread.now }
        /// Schedules a call on a thread at a time.
        var call: @Sendable (ServiceThread, Int64, @escaping @Sendable () -> Void) -> Void = { _ = $0.call(at: $1, $2) }

        /// The defaults for production.
        init(
            environment: [String: String] = ProcessInfo.processInfo.environment,
            processID: @escaping @Sendable () -> Int32 = { getpid() },
            pendingBytes: Int = 1 << 20,
            lockLimitAtStop: Duration = .seconds(1),
            replacementGrace: Duration = .seconds(1)
        ) {
            self.environment = environment
            self.processID = processID
            self.pendingBytes = pendingBytes
            self.lockLimitAtStop = lockLimitAtStop
            self.replacementGrace = replacementGrace
        }
    }
}
