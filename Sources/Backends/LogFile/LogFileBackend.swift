import Dispatch
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
/// (on one line). `event` is `shown`, `hidden` or `label`. `label` and `progress` are left out when there is none.
/// `time` is in UTC, and when the indicator was shown or hidden, even if the line was written later; for `label` it is
/// when the backend was told. As text:
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
/// - A regular file, a FIFO with a reader, or a character device such as `/dev/null`. Not a symbolic link.
/// - Lines survive the end of the process at once; they are not forced to the disk, so a power cut may take the last
///   ones.
///
/// ### When it cannot be written
///
/// While the disk is full, lines wait in memory: 4096 of them and 1 MiB at most, beyond that the oldest are lost. The
/// file is tried again at every update, and from time to time without one. Once there is space, a line tells where some
/// were lost, and how many (`time` and `since` are those of the last and the first of them):
///
///     {"time":"…","event":"lost","count":12,"since":"…","app":"my-app","pid":4242}
///
/// When the path is to blame (it has become a directory, say), ``update(_:)`` throws, and whoever runs the backend
/// starts it again later.
public final class LogFileBackend: IndicatorBackend {
    private struct State {
        var transitions = LogTransitions()
        var pending: PendingLines
        /// `nil` while stopped.
        var writer: LogWriter?
        /// The attempts without an update; `nil` when nothing waits.
        var retries: Task<Void, Never>?
        /// Why nothing is written; `nil` when all is.
        var outage: String?
        /// Why the file grows beyond its size, once that was logged.
        var rotationFailure: LogFileError?
    }

    /// The name that the config file and the diagnostics use.
    public let name: String
    /// The settings that the backend was made with.
    public let settings: Settings

    private let applicationName: String
    private let logger: Logger
    private let surroundings: Surroundings
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
            surroundings: Surroundings()
        )
    }

    package init(
        name: String = "logFile",
        applicationName: String,
        settings: Settings,
        logger: Logger = Logger(label: "IndicatorBackends.LogFile"),
        surroundings: Surroundings
    ) {
        self.name = name
        self.settings = settings
        self.applicationName = applicationName
        self.logger = logger
        self.surroundings = surroundings
        formatter = LogLineFormatter(format: settings.format, applicationName: applicationName)
        state = Locked(State(pending: PendingLines(limits: surroundings.limits)))
    }

    deinit {
        state.withLock { $0.retries?.cancel() }
    }

    /// Every showing and hiding, in order.
    public var delivery: BackendDelivery { .everyTransition }

    /// Opens the file, and makes it when it is missing.
    ///
    /// - Throws: ``LogFileError``.
    public func start() async throws {
        let path = try LogFilePath(
            settings.path,
            applicationName: applicationName,
            environment: surroundings.environment
        )
        try state.withLock { state throws(LogFileError) in
            var writer = LogWriter(
                path: path,
                maxSize: settings.maxSize,
                keep: settings.keep,
                replacementGrace: surroundings.replacementGrace
            )
            try writer.open()
            state.writer = writer
            state.outage = nil
            state.rotationFailure = nil
        }
    }

    /// Writes a line when this snapshot is worth one.
    ///
    /// - Throws: ``LogFileError`` when the path cannot be that of a log any more. Never for a lack of space.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        try state.withLock { state throws(LogFileError) in
            if let event = state.transitions.event(for: snapshot) {
                let time = LogTimestamp(event == .label ? surroundings.now() : snapshot.since)
                let record = LogRecord(
                    time: time,
                    event: event,
                    snapshot: snapshot,
                    processID: surroundings.processID()
                )
                state.pending.append(PendingLines.Line(bytes: formatter.line(for: record), time: time))
            }
            if case .refused(let error) = flush(&state, patience: Self.patience) { throw error }
            if state.outage != nil, state.retries == nil { state.retries = retries() }
        }
    }

    /// Writes what still waits, if it can be written now, and closes the file.
    public func stop() async {
        let retries = state.withLock { state in
            _ = flush(&state, patience: surroundings.patienceAtStop)
            let reason = state.outage
            state.pending.loseAll()
            let lost = (state.pending.loss?.count ?? 0) + (state.writer?.hasUnfinishedLine == true ? 1 : 0)
            if lost > 0, let reason, let path = state.writer?.path {
                logger.error("log file '\(path)': \(Self.lines(lost)) lost for good: \(reason)")
                // For the case that the backend is started again: it then tells of the loss, and how things stand.
                state.transitions.forget()
            }
            state.writer?.close()
            state.writer = nil
            state.outage = nil
            defer { state.retries = nil }
            return state.retries
        }
        retries?.cancel()
    }

    // MARK: Writing

    /// How long an update waits for others that write the file. They hold it for the time of a write.
    private static let patience = Duration.milliseconds(200)

    /// Writes all that waits; returns why something still does.
    private func flush(_ state: inout State, patience: Duration) -> LogWriteFailure? {
        guard var writer = state.writer else { return nil }
        // Taken out and put back, so that it is not copied.
        state.writer = nil
        defer { state.writer = writer }

        var lost = 0
        var failure: LogWriteFailure?
        do throws(LogWriteFailure) {
            while true {
                if let loss = state.pending.loss {
                    try writer.append(
                        formatter.line(for: loss, processID: surroundings.processID()),
                        patience: patience
                    )
                    lost += loss.count
                    state.pending.clearLoss()
                } else if let line = state.pending.first {
                    try writer.append(line.bytes, patience: patience)
                    state.pending.removeFirst()
                } else {
                    try writer.finish(patience: patience)
                    break
                }
            }
        } catch {
            failure = error
        }
        report(failure, lost: lost, in: &state, writer: writer)
        return failure
    }

    /// Logs the beginning and the end of an outage, not every line of it.
    private func report(_ failure: LogWriteFailure?, lost: Int, in state: inout State, writer: LogWriter) {
        if let failure, state.outage == nil {
            logger.warning("log file '\(writer.path)': \(failure.reason); its lines wait in memory")
        } else if failure == nil, state.outage != nil {
            logger.notice("log file '\(writer.path)': it is written again; \(Self.lines(lost)) lost")
        }
        state.outage = failure?.reason
        if let error = writer.rotationFailure, state.rotationFailure == nil {
            logger.warning("\(error); until then it grows")
        }
        state.rotationFailure = writer.rotationFailure
    }

    private static func lines(_ count: Int) -> String { count == 1 ? "1 line" : "\(count) lines" }

    // MARK: Trying again

    /// Tries until nothing waits: after 1 second, then 2, 4, … 30. It exists only during an outage.
    private func retries() -> Task<Void, Never> {
        let clock = surroundings.clock
        return Task { [weak self] in
            // Writing blocks, and so must not be done on one of the few threads that all tasks share.
            let queue = DispatchQueue(label: "IndicatorBackends.LogFile.retry")
            var pause = Duration.seconds(1)
            while (try? await clock.sleep(for: pause)) != nil {
                let isWaiting = await withCheckedContinuation { continuation in
                    queue.async { [weak self] in continuation.resume(returning: self?.retry() ?? false) }
                }
                guard isWaiting else { return }
                pause = min(pause * 2, .seconds(30))
            }
        }
    }

    /// Returns whether something still waits.
    private func retry() -> Bool {
        state.withLock { state in
            // A task that was cancelled may come here once more: after a stop there is no writer, and after another
            // start there may be another task, which then has one attempt more.
            guard state.writer != nil else { return false }
            guard flush(&state, patience: Self.patience) != nil else {
                state.retries = nil
                return false
            }
            return true
        }
    }
}
