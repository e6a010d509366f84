import Foundation
import InMemoryLogging
import IndicatorBackends
import IndicatorCore
import IndicatorReports
import Logging
import Synchronization

/// A command as an activity: an indicator with that alone, and a notification at its end.
final class ExecActivity {
    private let indicator: IndicatorManager
    private let activity: ManagedActivity
    private let reports: ProgramReports?

    private static let messages = InMemoryLogHandler()
    private static let logger = Logger(label: "indicator", factory: { _ in messages })

    /// - Parameters:
    ///   - options: the app whose config file is used, when to notify of the end, and how long the command must last
    ///     for that; by default as in the config file, or always, and 10 seconds.
    ///   - label: the label of the activity.
    ///   - began: when the command began.
    ///   - reports: what the command reports of its work.
    init(of options: ExecCommand, label: String, began: ContinuousClock.Instant, reports: ProgramReports? = nil) {
        // Who looks at a shell has seen the end of a line. Where only the terminal knows that, it notifies.
        let isFocused = options.lasted != nil && options.notify != .never ? TerminalFocus.isFocused : false
        let prefersTerminal =
            isFocused == nil
            && TerminalNotificationBackend.isHiddenWhileFocused(in: ProcessInfo.processInfo.environment)
        let (app, notify, after) = (options.app, isFocused == true ? .never : options.notify, options.after)
        var source = ConfigurationSource(
            for: app,
            isReloaded: false,
            // They would appear within the command's output.
            printsMistakes: false,
            logger: Self.logger
        )
        let file = prefersTerminal ? try? IndicatorConfiguration.load(from: source) : nil
        let desktop = file?.notifiers.first(where: \.isNotification)
        // These override the config file.
        for kind in ["desktopNotification", "terminalNotification"] {
            source.overrides["\(kind).whenDone"] = notify.map { .string($0.rawValue) }
            source.overrides["\(kind).after"] = after.map { .string($0.secondsText) }
        }
        if prefersTerminal { source.overrides["desktopNotification.whenDone"] = .string(WhenDone.never.rawValue) }
        indicator = IndicatorManager.configured(from: source)
        activity = ManagedActivity(label, in: indicator, lasted: began.duration(to: .now))
        let configured = indicator.configuration?.notifiers ?? []
        let settled = configured.first ?? desktop
        let others = configured.isEmpty ? ["execNotification"] : configured.map(\.name)
        let whenDone = notify ?? settled?.whenDone ?? .always
        let least = after ?? settled?.after ?? .seconds(10)
        #if DBus
        // Over SSH, the desktop belongs to another machine.
        if configured.isEmpty, !prefersTerminal, whenDone != .never, !TerminalFocus.isRemote {
            var settings = DesktopNotificationSettings(whenDone: whenDone, after: least)
            settings.isLive = false
            (settings.icon, settings.category) = ("utilities-terminal", "")
            indicator.addBackend(
                DesktopNotificationBackend(
                    name: others[0],
                    applicationName: app,
                    settings: settings,
                    logger: Self.logger
                )
            )
        }
        #endif
        if let notify = TerminalNotice.open(app) {
            let notice = TerminalNotice(app: app, whenDone: whenDone, after: least, notify: notify) { [indicator] in
                indicator.backendStatuses.filter { others.contains($0.name) }
            }
            indicator.addBackend(notice)
        }
        self.reports = reports
        reports?.listen(on: activity)
    }

    /// Shows a label, unless it is `nil`, and how much of a file has been read, in bytes; nothing for `nil`.
    func update(label: String?, _ position: (bytes: Int, size: Int)?) {
        activity.update { details in
            details.label = label ?? details.label
            (details.completed, details.total, details.unit) = (position?.bytes ?? 0, position?.size, .bytes)
        }
    }

    /// Ends the activity, notifies, and restores all backends. Writes problems to standard error; to the terminal, if
    /// there is one, instead of into the pipe of the command's output, as in `x=$(indicator exec … 2>&1)`.
    func end(_ outcome: ActivityOutcome) {
        reports?.end(outcome)
        activity.end(outcome)
        let problems = shutDown()
        var (output, error) = (stat(), stat())
        fstat(STDOUT_FILENO, &output)
        fstat(STDERR_FILENO, &error)
        let isOnePipe = error.st_mode & S_IFMT == S_IFIFO && error.st_ino == output.st_ino
        let terminal = isOnePipe && !problems.isEmpty ? open("/dev/tty", O_WRONLY | O_NOCTTY | O_CLOEXEC) : -1
        // The terminal may still be in raw mode.
        let end = terminal >= 0 || isatty(STDERR_FILENO) == 1 ? "\r\n" : "\n"
        let text = problems.map { "indicator: \($0)\(end)" }.joined()
        _ = TerminalOutput.writeAll(Array(text.utf8), to: terminal >= 0 ? terminal : STDERR_FILENO)
    }

    /// Shuts the backends down. Returns what the user has configured and did not get: the backends that were not
    /// available or failed at the end, and mistakes in the config file. Without a terminal, as under cron, nothing else
    /// shows that.
    private func shutDown() -> [String] {
        let configured = indicator.configuration?.backends.filter(\.context.isNamed) ?? []
        let hasMistakes = !indicator.configurationProblems.isEmpty
        let earlier = indicator.backendStatuses
        ProcessSignals.shutDownIndicators()
        let statuses = indicator.backendStatuses
        // Where the terminal notifies, that there is no desktop beside it is no news.
        let hasTerminal = statuses.contains { $0.name == TerminalNotice.name }
        let unavailable = zip(earlier, statuses).compactMap { earlier, status -> String? in
            let backend = configured.first { $0.name == status.name }
            guard let backend, !hasTerminal || !backend.isOfDesktop else { return nil }
            if case .unavailable(let reason) = earlier.state { return "\(status.name): \(reason)" }
            // That there is no thread was reported.
            if status.state != .stopped, !ThreadStarter.isShortageReported.load(ordering: .relaxed) {
                let fault = "no answer in time, so the end may not be shown; see 'indicator backends'"
                return "\(status.name): \(fault)\(status.lastError.map { "; before: \($0)" } ?? "")"
            }
            return status.outages == earlier.outages ? nil : status.lastError.map { "\(status.name): \($0)" }
        }
        // The events that a hook has not reported.
        let lost = Self.messages.entries.filter { $0.metadata["backend"] != nil }.map(\.message.description)
        return unavailable + lost
            + (hasMistakes ? ["the configuration has mistakes; see 'indicator check-config'"] : [])
    }
}

/// Notifies on the terminal where no other backend does.
private struct TerminalNotice: IndicatorBackend {
    static let name = "execTerminal"

    let app: String
    /// Of which ends to notify.
    let whenDone: WhenDone
    /// How long the work must have lasted for that.
    let after: Duration
    let notify: @Sendable (OutcomeNotice) throws -> Void
    /// The other backends that notify.
    let others: @Sendable () -> [BackendStatus]

    var name: String { Self.name }
    /// Work may end before the indicator is shown.
    var delivery: BackendDelivery { BackendDelivery(includesHidden: true, minimumInterval: .milliseconds(100)) }

    /// What notifies: the terminal as it can, or the bell over SSH and in tmux or GNU screen, which mark the window;
    /// `nil` without both.
    static func open(_ app: String) -> (@Sendable (OutcomeNotice) throws -> Void)? {
        if let notify = try? TerminalNotificationBackend(applicationName: app).open() { return notify }
        guard TerminalFocus.isRemote || getenv("TMUX") != nil || getenv("STY") != nil else { return nil }
        let terminal = Foundation.open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        if terminal < 0 { return nil }
        return { _ in _ = write(terminal, "\u{07}", 1) }
    }

    func show(_ updates: IndicatorUpdates) async throws {
        for await update in updates {
            let wanted = update.finished.filter { whenDone.covers($0, after: after) }
            let notice = OutcomeNotice(wanted, omitted: update.omittedFinished, applicationName: app)
            if let notice, !hasOther { try notify(notice) }
        }
    }

    /// Whether another backend notifies. Waits while one starts, half a second at most: a command may end before.
    private var hasOther: Bool {
        for _ in 0..<50 where others().contains(where: { $0.state == .starting }) { usleep(10_000) }
        // One that has stopped may have lost the end of the work.
        return others().contains { [.starting, .running, .stopped].contains($0.state) && $0.lost == 0 }
    }
}

extension IndicatorConfiguration {
    /// The backends that notify of the end of a command. For that of the desktop, `never` is only about its other
    /// notification.
    fileprivate var notifiers: [Backend] {
        backends.filter { $0.kind.name == "terminalNotification" || $0.isNotification && $0.whenDone != .never }
    }
}

extension IndicatorConfiguration.Backend {
    fileprivate var isNotification: Bool { kind.name == "desktopNotification" }
    /// Whether it shows something on the desktop of a session, over its bus.
    fileprivate var isOfDesktop: Bool {
        ["desktopNotification", "desktopJob", "launcherEntry", "dbusProperty"].contains(kind.name)
    }

    /// Its setting, or the default of its kind.
    fileprivate var whenDone: WhenDone {
        values["whenDone"]?.text.flatMap(WhenDone.init) ?? (isNotification ? .never : .always)
    }

    fileprivate var after: Duration? { values["after"]?.seconds }
}
