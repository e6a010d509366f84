import Foundation
public import IndicatorCore
public import Logging

/// Writes a line to a file whenever the indicator is shown or hidden, or its label changes while it is visible.
///
/// ### Lines
///
/// As JSON:
///
///     {"time":"2026-03-01T12:00:00.000000Z","event":"shown","state":"active","visible":true,"count":1,"label":"GET /",
///      "progress":0.4,"app":"my-app","pid":4242}
///
/// (on one line). `event` is `shown`, `hidden`, `label`, or `finished` for an activity with a label that has ended. `label`
/// and `progress` are left out when there is none; `progress` has at most 4 digits after the point. `time` is in UTC, and
/// when it happened, even if the line was written later. It never goes back from one line of a backend to the next. A
/// line of `finished` has the outcome (`unspecified`, `succeeded`, `failed`, `cancelled`), how long it lasted, and the
/// message of a failure instead of the indicator's state:
///
///     {"time":"…","event":"finished","label":"GET /","outcome":"failed","seconds":1.25,"message":"HTTP 503",…}
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
/// ``update(_:)`` throws, so that the backend's status reports it, and the manager starts the backend again from time to
/// time. While the disk is full, lines wait in memory: 1 MiB of them at most, beyond that the oldest are lost.
/// Once there is space they are written, and a line reports where some were lost, and how many (`time` and `since` are
/// those of the last and the first of them):
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
    }

    /// The name that the config file and the diagnostics use.
    public let name: String
    /// The settings that the backend was made with.
    public let settings: Settings

    private let applicationName: String
    private let logger: Logger
    private let dependencies: Dependencies
    private let formatter: LogLineFormatter
    private let state: Locked<State>

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

    /// Every showing and hiding, in order.
    public var delivery: BackendDelivery { .everyTransition }

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
    /// - Throws: ``LogFileError`` while lines wait, because there is no space or the path cannot be that of a log any more.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        try change { state throws(LogFileError) in
            for record in records(of: snapshot, &state) {
                state.pending.append(PendingLines.Line(bytes: formatter.line(for: record), time: record.time))
            }
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

    /// How long an update waits for the lock of other processes that write the file. They hold it for the time of a write.
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

    /// What has happened since the snapshot before, in order.
    private func records(of snapshot: IndicatorSnapshot, _ state: inout State) -> [LogRecord] {
        var records: [LogRecord] = []
        func add(_ event: LogRecord.Event, at date: Date, _ finished: FinishedActivity? = nil) {
            // Never before the line before: the wall clock may be set back.
            let time = max(LogTimestamp(date), state.latest ?? LogTimestamp(date))
            state.latest = time
            records.append(
                LogRecord(
                    time: time,
                    event: event,
                    snapshot: snapshot,
                    finished: finished,
                    processID: dependencies.processID()
                )
            )
        }
        let event = state.transitions.event(for: snapshot)
        var finished = snapshot.finished[...]
        if let event, event != .label {
            for activity in finished.prefix(while: { event == .hidden || $0.date < snapshot.since }) {
                add(.finished, at: activity.date, activity)
                finished.removeFirst()
            }
            add(event, at: snapshot.since)
        }
        for activity in finished { add(.finished, at: activity.date, activity) }
        if event == .label { add(.label, at: snapshot.labelSince) }
        return records
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

        /// Makes settings. Negative numbers count as 0.
        public init(path: String? = nil, format: Format = .json, maxSize: Int = 10 << 20, keep: Int = 3) {
            self.path = path
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
