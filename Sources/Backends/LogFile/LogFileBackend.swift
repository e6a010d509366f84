import Foundation
public import IndicatorCore
import IndicatorThreads
public import Logging

/// Writes a line to a file whenever the indicator is shown or hidden, or its label changes while it is visible; or, as
/// a record of the work itself, whenever an activity with a label begins or ends.
///
/// ### Lines
///
/// As JSON:
///
///     {"time":"2026-03-01T12:00:00.000000Z","event":"shown","state":"active","visible":true,"count":1,"label":"GET /",
///      "progress":0.4,"app":"my-app","pid":4242}
///
/// (on one line). `event` is one of those that the settings select, ``Settings/events``: by default `shown`, `hidden`,
/// `label`, at most once a second, or `finished` for an activity with a label that has ended. `label` and `progress`
/// are left out when there is none; `progress` has at most 4 digits after the point. `time` is in UTC, and when it
/// happened, even if the line was written later. It never goes back from one line of a backend to the next. A line of
/// `finished` has the outcome (`unspecified`, `succeeded`, `failed`, `cancelled`), how long it lasted, and the message
/// of a failure instead of the indicator's state:
///
///     {"time":"…","event":"finished","label":"GET /","outcome":"failed","seconds":1.25,"message":"HTTP 503",…}
///
/// A line of `end` is the same, for every activity with a label, also if the indicator is not shown; one of `begin` has
/// the label alone. These lines come within a tenth of a second. Of more than 16 activities in progress at once, those
/// that began last may get their line of `begin` when they end; its time is then not before the line before. If more
/// than 64 end within that tenth, a line of `lost` counts the rest.
///
/// As text:
///
///     2026-03-01T12:00:00.000000Z my-app[4242] shown state=active visible=true count=1 progress=0.4 label="GET /"
///
/// A label is quoted and escaped, so that nothing in it can pass for a line or for a terminal's control sequence, and
/// cut so that a line has 4096 bytes at most.
///
/// ### The file
///
/// - Made with mode 0600, missing folders with 0700. One that exists keeps its mode.
/// - Several processes, and several backends of one process, can share it. Each should have the same `maxSize` and
///   `keep`.
/// - Rotated when it is full, and followed when somebody else does that: `logrotate` needs no `postrotate` script. With
///   `compress`, use `delaycompress` too.
/// - Its rotated successor has the same owner, group and mode.
/// - A regular file, a FIFO with a reader, a character device such as `/dev/null`, or `/dev/stdout` and `/dev/stderr`,
///   whatever these are. Any other symbolic link is refused.
/// - In a folder that other users can write, what belongs to another user, and what has a second name, is refused.
/// - Lines survive the end of the process at once; they are not forced to the disk, so a power cut may take the last
///   ones.
///
/// ### When it cannot be written
///
/// ``update(_:)`` throws, so that the backend's status reports it, and the manager starts the backend again from time
/// to time. While the disk is full, lines wait in memory: 1 MiB of them at most, beyond that the oldest are lost. Once
/// there is space they are written, and a line reports where some were lost, and how many (`time` and `since` are those
/// of the last and the first of them):
///
///     {"time":"…","event":"lost","count":12,"since":"…","app":"my-app","pid":4242}
public final class LogFileBackend: IndicatorBackend {
    private struct State {
        var transitions = LogTransitions()
        var pending: PendingLines
        var writer: LogWriter?
        var isStarted = false
        /// Why lines wait; `nil` when none does.
        var outage: String?
        /// What is wrong with the rotation, once that was logged.
        var rotationFailure: String?
        /// The time of the line before.
        var latest: LogTimestamp?
        /// The activities in progress with a line of ``Event/begin``.
        var begun: Set<UInt64> = []
        /// The snapshot before, without what has ended, for a label that waits.
        var snapshot: IndicatorSnapshot?
        /// When there may be the next line of ``Event/label``.
        var nextLabel = Int64.min
        /// Whether a call is due then.
        var isLabelDue = false
    }

    /// How many activities are known to have a line of ``Event/begin`` at most.
    private static let largestNumberOfBegun = 1024

    /// The name that the config file and the diagnostics use.
    public let name: String
    /// The settings that the backend was made with.
    public let settings: Settings

    private let applicationName: String
    private let logger: Logger
    private let dependencies: Dependencies
    private let formatter: LogLineFormatter
    private let state: Locked<State>
    /// Writes labels that had to wait. Ends when none does.
    private let labelThread = ServiceThread(name: "log-labels", isKept: false)

    /// Makes a backend. Nothing is opened before ``start()``.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - applicationName: the name of the app, for the lines and for the default path.
    ///   - settings: where the log is, and what it looks like.
    ///   - logger: takes what the file itself cannot: that it cannot be written, and that it can be again.
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
        // Stopped while it could not be written, and not started again.
        let message = state.withLock { Self.loseAll(&$0) }
        if let message { logger.error("\(message)") }
    }

    /// Every showing and hiding, in order; with ``Event/begin`` or ``Event/end``, also what happens while it is hidden.
    public var delivery: BackendDelivery {
        var delivery = BackendDelivery.everyTransition
        delivery.includesHidden = isRecord
        return delivery
    }

    /// Whether the log is of all activities.
    private var isRecord: Bool { !settings.events.isDisjoint(with: [.begin, .end]) }

    /// Opens the file, makes it when it is missing, and writes what still waits.
    ///
    /// - Throws: ``LogFileError``.
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

    /// Writes the lines that this snapshot is worth.
    ///
    /// - Throws: ``LogFileError`` while lines wait, because there is no space or the path cannot be that of a log any
    ///   more.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        defer { awaitLabel() }
        try change { state throws(LogFileError) in
            add(snapshot, &state)
            try flush(&state, timeLimit: Self.lockLimit)
        }
    }

    /// Writes what still waits, if it can be written now, and closes the file.
    ///
    /// After an update that threw, what waits goes on waiting for the next start.
    public func stop() async {
        let message = state.withLock { state -> String? in
            defer {
                state.isStarted = false
                state.writer?.release()
            }
            guard state.outage == nil else { return nil }
            try? flush(&state, timeLimit: dependencies.lockLimitAtStop)
            guard state.outage != nil else { return nil }
            // Should it be started again, it reports the loss, and what is the case then.
            state.transitions.forget()
            defer {
                state.writer?.close()
                state.outage = nil
            }
            return Self.loseAll(&state)
        }
        if let message { logger.error("\(message)") }
    }

    // MARK: Writing

    /// How long an update waits for the lock of other processes that write the file. They hold it for the time of a
    /// write.
    private static let lockLimit = Duration.milliseconds(200)

    /// Changes the state, and logs afterwards, without the lock, what is wrong with the rotation.
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

    /// Something that has happened.
    private typealias Occurrence = (event: Event, date: Date, activity: LogRecord.Activity?)

    /// Has the lines of what has happened since the snapshot before wait to be written.
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
            // One of two at the same time is as it was found.
            occurrences = occurrences.enumerated()
                .sorted { ($0.element.date, $0.offset) < ($1.element.date, $1.offset) }.map(\.element)
        }
        for (event, date, activity) in occurrences where settings.events.contains(event) {
            // Never before the line before: the wall clock may be set back.
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

    /// What has happened since the snapshot before, in order, but for beginnings.
    private func occurrences(in snapshot: IndicatorSnapshot, _ event: Event?) -> [Occurrence] {
        var occurrences: [Occurrence] = []
        func add(_ activity: FinishedActivity) {
            occurrences.append((.end, activity.date, .finished(activity)))
            // A log of all activities gets the snapshots while the indicator is hidden, too.
            guard !isRecord || snapshot.isVisible || event == .hidden else { return }
            occurrences.append((.finished, activity.date, .finished(activity)))
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

    /// The beginnings of activities that have no line yet.
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
        // The ends of some were left out of the snapshots.
        while begun.count > Self.largestNumberOfBegun, let oldest = begun.min() { begun.remove(oldest) }
        return beginnings
    }

    /// Sees to it that a label that was held back is written, if it stays.
    private func awaitLabel() {
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
        // Why it cannot be written, the next update reports.
        try? change { state throws(LogFileError) in
            state.isLabelDue = false
            guard state.isStarted, let snapshot = state.snapshot else { return }
            add(snapshot, &state)
            try flush(&state, timeLimit: Self.lockLimit)
        }
    }

    /// Writes all that waits; throws why something still does.
    private func flush(_ state: inout State, timeLimit: Duration) throws(LogFileError) {
        guard state.isStarted, var writer = state.writer else { return }
        // Taken out and put back, so that it is not copied.
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

    /// Gives up what waits. Returns what to log about it, if there is anything.
    private static func loseAll(_ state: inout State) -> String? {
        state.pending.loseAll()
        let lost = (state.pending.loss?.count ?? 0) + (state.writer?.hasUnfinishedLine == true ? 1 : 0)
        guard lost > 0, let reason = state.outage, let path = state.writer?.path else { return nil }
        return "log file '\(path)': \(lost == 1 ? "1 line" : "\(lost) lines") lost for good: \(reason)"
    }
}

extension LogFileBackend {
    /// What there is a line of.
    public enum Event: String, Sendable, Hashable, CaseIterable {
        /// The indicator was shown.
        case shown
        /// The indicator was hidden.
        case hidden
        /// The label changed while the indicator was visible; at most one line a second.
        case label
        /// An activity with a label has ended; reported while the indicator is visible.
        case finished
        /// An activity with a label has begun, or an activity has got its first label.
        case begin
        /// An activity with a label has ended, whether or not the indicator is shown.
        case end
    }

    /// How the lines are written.
    public enum Format: String, Sendable, Hashable, CaseIterable {
        /// A JSON object a line (JSON Lines).
        case json
        /// Words and `key=value` pairs, for people.
        case text
    }

    /// Where the log is, and what it looks like.
    public struct Settings: Sendable, Hashable {
        /// The path of the file; a relative one is relative to the current folder when the backend starts, and `~/` in
        /// front is the home folder.
        ///
        /// Default `nil`: `$XDG_STATE_HOME/<app>/indicator.log`, or `~/.local/state/<app>/indicator.log`.
        public var path: String?
        /// How the lines are written. Default JSON.
        public var format: Format
        /// How many bytes the file may have: a line that would make it longer goes to a new file. 0 means any number.
        /// Default 10 MiB.
        public var maxSize: Int
        /// How many full files are kept, as `indicator.log.1` (the latest), `indicator.log.2` and so on. With 0, a full
        /// file is removed. Default 3.
        public var keep: Int
        /// What there is a line of. Default: what the user has seen, which is ``Event/shown``, ``Event/hidden``,
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
    /// What the backend takes from outside, for tests to replace.
    struct Dependencies: Sendable {
        /// The environment variables.
        var environment: [String: String]
        /// The process that the lines name. Asked for each line: a daemon gets another number after its start.
        var processID: @Sendable () -> Int32
        /// How many bytes may wait while nothing can be written.
        var pendingBytes: Int
        /// How long ``stop()`` waits for the lock of other processes that write the file.
        var lockLimitAtStop: Duration
        /// How long a file that was renamed away is written on while nothing is in its place.
        var replacementGrace: Duration
        /// The least time between two lines of ``Event/label``, in nanoseconds.
        var labelInterval: Int64 = 1_000_000_000
        /// The time, in nanoseconds.
        var now: @Sendable () -> Int64 = { ServiceThread.now }
        /// Has a thread call a function at a time.
        var call: @Sendable (ServiceThread, Int64, @escaping @Sendable () -> Void) -> Void = { _ = $0.call(at: $1, $2) }

        /// The real ones.
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
