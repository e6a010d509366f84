import Foundation
import InMemoryLogging
import IndicatorBackends
import IndicatorCore
import IndicatorReports
import IndicatorThreads
import Logging

/// A command as an activity: an indicator with that alone, and a notification at its end.
final class ExecActivity {
    private let indicator: IndicatorManager
    private let activity: ManagedActivity
    private var label: String
    private let began: ContinuousClock.Instant
    private let notice: EndNotice
    /// What the command reports of its work.
    private let reports: ProgramReports?
    private let ends = ReportedEnds()

    private static let messages = InMemoryLogHandler()
    fileprivate static let logger = Logger(label: "indicator", factory: { _ in messages })

    /// - Parameters:
    ///   - options: the app whose config file is used, when to notify of the end, and how long the command must last
    ///     for that; by default as in the config file, or always, and 10 seconds.
    ///   - label: the label of the activity.
    ///   - began: when the command began.
    ///   - socket: where the command reports its work.
    init(of options: ExecCommand, label: String, began: ContinuousClock.Instant, socket: ReportSocket? = nil) {
        (self.label, self.began) = (label, began)
        // Who looks at a shell has seen the end of a line. Where only the terminal knows that, it notifies.
        let isFocused = options.lasted != nil && options.notify != .never ? TerminalFocus.isFocused : false
        let prefersTerminal = isFocused == nil && TerminalFocus.isKnownToTerminal
        let (app, notify, after) = (options.app, isFocused == true ? .never : options.notify, options.after)
        var source = ConfigurationSource(
            for: app,
            isReloaded: false,
            // They would appear within the command's output.
            printsMistakes: false,
            logger: Self.logger
        )
        // These override the config file.
        var settings: [String: SettingValue] = [:]
        if let notify { settings["whenDone"] = .string(notify.rawValue) }
        if let after { settings["after"] = .string(after.secondsText) }
        let file = prefersTerminal ? try? IndicatorConfiguration.load(from: source) : nil
        let desktop = file?.notifiers.first(where: \.isNotification)
        for kind in ["desktopNotification", "terminalNotification"] { source.overrides.settings[kind] = settings }
        if prefersTerminal {
            source.overrides.settings["desktopNotification"]?["whenDone"] = .string(WhenDone.never.rawValue)
        }
        indicator = IndicatorManager.configured(from: source)
        activity = ManagedActivity(label, in: indicator, lasted: began.duration(to: .now))
        let configured = indicator.configuration?.notifiers ?? []
        let settled = configured.first ?? desktop
        let notice = EndNotice(
            indicator: indicator,
            app: app,
            whenDone: notify ?? settled?.whenDone ?? .always,
            after: after ?? settled?.after ?? .seconds(10),
            notifiers: configured.isEmpty ? [EndNotice.desktopName] : configured.map(\.name)
        )
        self.notice = notice
        if configured.isEmpty, !prefersTerminal, notice.whenDone != .never { notice.addNotification() }
        reports = socket.map { [activity, ends] socket in
            ProgramReports(on: activity, began: began, socket: socket) { ends.notify(of: $0, by: notice) }
        }
    }

    /// Shows a label, unless it is `nil`, and how much of a file has been read, in bytes; nothing for `nil`.
    func update(label: String?, _ position: (bytes: Int, size: Int)?) {
        self.label = label ?? self.label
        activity.update { details in
            details.label = self.label
            (details.completed, details.total, details.unit) = (position?.bytes ?? 0, position?.size, .bytes)
        }
    }

    /// Ends the activity, notifies, and restores all backends.
    func end(_ outcome: ActivityOutcome) {
        let earlier = indicator.backendStatuses
        var finished: FinishedActivity?
        if let reports {
            finished = reports.finish(outcome)
            ends.wait()
        } else {
            activity.end(outcome)
            finished = FinishedActivity(label: label, outcome: outcome, duration: began.duration(to: .now))
        }
        let hasTerminal = notice.notify(of: finished)
        Self.report(shutDown(since: earlier, hasTerminal: hasTerminal))
    }

    /// Writes problems to standard error; to the terminal, if there is one, instead of into the pipe of the command's
    /// output, as in `x=$(indicator exec … 2>&1)`.
    private static func report(_ problems: [String]) {
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
    ///
    /// - Parameters:
    ///   - earlier: the statuses before the end.
    ///   - hasTerminal: whether the terminal notifies. That there is no desktop beside it is no news then.
    private func shutDown(since earlier: [BackendStatus], hasTerminal: Bool) -> [String] {
        let named = indicator.configuration?.backends.filter { $0.context.isNamed && !(hasTerminal && $0.isOfDesktop) }
            .map(\.name)
        let hasMistakes = !indicator.configurationProblems.isEmpty
        ProcessSignals.shutDownIndicators()
        let unavailable = zip(earlier, indicator.backendStatuses).compactMap { earlier, status -> String? in
            guard named?.contains(status.name) == true else { return nil }
            if case .unavailable(let reason) = earlier.state { return "\(status.name): \(reason)" }
            if status.state != .stopped {
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

/// The ends of work that the command has reported: of a flood of them, ten a second are notified.
private final class ReportedEnds: Sendable {
    /// The one to notify next, of which a failure has precedence; whether one is notified or waits for that; and when
    /// the next one may be.
    private let state = Locked((next: FinishedActivity?.none, isBusy: false, due: Int64.min))

    /// Notifies on another thread, since that may wait for the terminal.
    func notify(of end: FinishedActivity, by notice: EndNotice) {
        let isFirst = state.withLock { state in
            if state.next?.outcome.isFailure != true || end.outcome.isFailure { state.next = end }
            return !exchange(&state.isBusy, with: true)
        }
        if isFirst { notifyNext(by: notice) }
    }

    private func notifyNext(by notice: EndNotice) {
        ServiceThread.foreignCode.call(at: state.withLock { $0.due }) {
            if let next = self.state.withLock({ $0.next.take() }) { notice.notify(of: next) }
            let isDone = self.state.withLock { state in
                (state.isBusy, state.due) = (state.next != nil, ServiceThread.now + 100_000_000)
                return !state.isBusy
            }
            if !isDone { self.notifyNext(by: notice) }
        }
    }

    /// Waits until all are notified, a second at most.
    func wait() {
        for _ in 0..<100 where state.withLock({ $0.isBusy }) { usleep(10_000) }
    }
}

/// The notification of an end, of the command or of work that it has reported.
private struct EndNotice: Sendable {
    static let desktopName = "execNotification"

    let indicator: IndicatorManager
    let app: String
    /// Of which ends to notify.
    let whenDone: WhenDone
    /// How long the work must last for that.
    let after: Duration
    /// The backends that notify. Where none of them works, the terminal does.
    let notifiers: [String]

    func addNotification() {
        #if DBus
        // Over SSH, the desktop belongs to another machine.
        guard !TerminalFocus.isRemote else { return }
        var settings = DesktopNotificationSettings(whenDone: whenDone, after: after)
        settings.isLive = false
        (settings.icon, settings.category) = ("utilities-terminal", "")
        indicator.addBackend(
            DesktopNotificationBackend(
                name: Self.desktopName,
                applicationName: app,
                settings: settings,
                logger: ExecActivity.logger
            )
        )
        #endif
    }

    /// Notifies on the terminal where no backend does: as it can, or by the bell over SSH and in tmux or GNU screen,
    /// which mark the window. Waits while backends start, half a second at most: a command may end before.
    ///
    /// - Returns: whether the terminal can.
    @discardableResult
    func notify(of finished: FinishedActivity?) -> Bool {
        let wanted = finished.map { whenDone.covers($0, after: after) && !hasNotifier ? [$0] : [] } ?? []
        let settings = TerminalNotificationSettings(whenDone: .always, after: .zero)
        let terminal = TerminalNotificationBackend(applicationName: app, settings: settings)
        do {
            let notify = try terminal.open()
            if let notice = OutcomeNotice(wanted, applicationName: app) { try notify(notice) }
            return true
        } catch {
            // There may be no terminal, or one without notifications.
            guard TerminalFocus.isRemote || getenv("TMUX") != nil || getenv("STY") != nil else { return false }
            let descriptor = open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
            guard descriptor >= 0 else { return false }
            if !wanted.isEmpty { write(descriptor, "\u{07}", 1) }
            close(descriptor)
            return true
        }
    }

    private var hasNotifier: Bool {
        func states() -> [BackendState] {
            indicator.backendStatuses.filter { notifiers.contains($0.name) }.map(\.state)
        }
        for _ in 0..<50 where states().contains(.starting) { usleep(10_000) }
        return states().contains { $0 == .starting || $0 == .running }
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
