import Foundation
import IndicatorBackends
import IndicatorCore
import Logging

/// Shows a running command: an indicator with one activity, and a notification at the end.
final class ShownCommand {
    private let indicator: IndicatorManager
    private let activity: ManagedActivity
    private var label: String
    private let began: ContinuousClock.Instant
    private let app: String
    /// Of which ends to notify; `nil` if the config file's backends do.
    private var whenDone: WhenDone?
    /// How long the command must last for that.
    private let after: Duration

    private static let desktopName = "execNotification"
    private static let noLogger = Logger(label: "indicator", factory: { _ in SwiftLogNoOpLogHandler() })

    /// - Parameters:
    ///   - label: the label of the activity.
    ///   - began: when the command began.
    ///   - app: the name of the app whose config file is used.
    ///   - notify: when to notify of the end; `nil`: the setting of the config file, or always.
    ///   - after: how long the command must last for that; `nil`: the setting of the config file, or 10 seconds.
    ///   - prefersTerminal: whether the terminal notifies instead of the desktop.
    init(
        label: String,
        began: ContinuousClock.Instant,
        app: String,
        notify: WhenDone?,
        after: Duration?,
        prefersTerminal: Bool = false
    ) {
        (self.label, self.began, self.app, self.after) = (label, began, app, after ?? .seconds(10))
        var source = ConfigurationSource(
            for: app,
            reloadTriggers: [],
            // They would appear within the command's output.
            printsMistakes: false,
            logger: Self.noLogger
        )
        // These override the config file.
        var settings: [String: BackendSettingValue] = [:]
        if let notify { settings["whenDone"] = .string(notify.rawValue) }
        if let after { settings["after"] = .duration(after) }
        let notify = notify ?? (prefersTerminal ? Self.desktopNotification(in: try? .load(from: source)) : nil)
        for kind in BackendRegistry.standard.kinds.map(\.name) where Self.notifies(kind) {
            source.overrides.settings[kind] = settings
            if prefersTerminal, kind == "desktopNotification" {
                source.overrides.settings[kind]?["whenDone"] = .string(WhenDone.never.rawValue)
            }
        }
        indicator = IndicatorManager.configured(from: source)
        activity = ManagedActivity(label, in: indicator, lasted: began.duration(to: .now))
        let isCovered = indicator.configuration?.backends.contains { backend in
            backend.kind.name == "terminalNotification"
                || Self.notifies(backend.kind.name) && backend.values["whenDone"] ?? "never" != "never"
        }
        if isCovered != true, notify != .never {
            whenDone = notify ?? .always
            if !prefersTerminal { addNotification(notify ?? .always) }
        }
    }

    /// When the config file's notification on the desktop reports an end; `nil` if there is none that does.
    private static func desktopNotification(in configuration: IndicatorConfiguration?) -> WhenDone? {
        configuration?.backends.lazy.filter { $0.kind.name == "desktopNotification" }
            .compactMap { $0.values["whenDone"]?.text.flatMap(WhenDone.init) }.first { $0 != .never }
    }

    private static func notifies(_ kind: String) -> Bool {
        ["desktopNotification", "terminalNotification"].contains(kind)
    }

    /// Whether a backend works or may work soon.
    private static func isUsable(_ status: BackendStatus?) -> Bool {
        switch status?.state {
        case .running, .starting: true
        case .unavailable, .stalled, .stopped, nil: false
        }
    }

    private func addNotification(_ whenDone: WhenDone) {
        #if DesktopNotification
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
                logger: Self.noLogger
            )
        )
        #endif
    }

    /// The status of the notification on the desktop. Waits while it starts, half a second at most: a command may end
    /// before.
    private func desktopStatus() -> BackendStatus? {
        func status() -> BackendStatus? { indicator.backendStatuses.first { $0.name == Self.desktopName } }
        for _ in 0..<50 where status()?.state == .starting { usleep(10_000) }
        return status()
    }

    /// Shuts the backends down. Returns what the user has configured and did not get: the backends that were not
    /// available or failed at the end, and mistakes in the config file. Without a terminal, as under cron, nothing else
    /// shows that.
    ///
    /// - Parameter earlier: the statuses before the end.
    private func shutDown(since earlier: [BackendStatus]) -> [String] {
        let named = indicator.configuration?.backends.filter(\.context.isNamed).map(\.name) ?? []
        let hasMistakes = !indicator.configurationProblems.isEmpty
        ProcessSignals.shutDownIndicators()
        let unavailable = zip(earlier, indicator.backendStatuses).compactMap { earlier, status -> String? in
            guard named.contains(status.name) else { return nil }
            if case .unavailable(let reason) = earlier.state { return "\(status.name): \(reason)" }
            if status.state != .stopped {
                return "\(status.name): it is still busy\(status.lastError.map { "; before: \($0)" } ?? "")"
            }
            return status.outages == earlier.outages ? nil : status.lastError.map { "\(status.name): \($0)" }
        }
        return unavailable + (hasMistakes ? ["the configuration has mistakes; see 'indicator check-config'"] : [])
    }

    /// Shows a label, unless it is `nil`, and how much of a file has been read, in bytes; nothing for `nil`.
    func update(label: String?, _ position: (bytes: Int, size: Int)?) {
        self.label = label ?? self.label
        activity.update { details in
            details.label = self.label
            (details.completed, details.total, details.unit) = (position?.bytes ?? 0, position?.size, .bytes)
        }
    }

    /// Rings the bell over SSH and in tmux or GNU screen, which mark the window, where nothing else arrives.
    private func ringBell() {
        guard TerminalFocus.isRemote || getenv("TMUX") != nil || getenv("STY") != nil else { return }
        let descriptor = open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { return }
        write(descriptor, "\u{07}", 1)
        close(descriptor)
    }

    /// Ends the activity, notifies, and restores all backends.
    func end(_ outcome: ActivityOutcome) {
        let earlier = indicator.backendStatuses
        activity.end(outcome)
        let finished = FinishedActivity(label: label, outcome: outcome, duration: began.duration(to: .now))
        if whenDone?.covers(finished, after: after) == true, !Self.isUsable(desktopStatus()) {
            let settings = TerminalNotificationSettings(whenDone: .always, after: .zero)
            let terminal = TerminalNotificationBackend(applicationName: app, settings: settings)
            do {
                try terminal.open()
                try terminal.notify(of: [finished])
            } catch {
                // There may be no terminal, or one without notifications.
                ringBell()
            }
        }
        for problem in shutDown(since: earlier) {
            // The terminal may still be in raw mode.
            let end = isatty(STDERR_FILENO) == 1 ? "\r\n" : "\n"
            try? FileHandle.standardError.write(contentsOf: Data("indicator: \(problem)\(end)".utf8))
        }
    }
}
