// What this folder's size buys: a new backend is one `BackendKind`: checks, reference, `auto` and diagnostics follow
// from its declaration.

import Foundation

/// What `backends: auto` stands for: one backend for each place where the user may look (the terminal, the desktop, the
/// service manager), so that no two show the same, and the object on the bus, which panels read.
///
/// A plain value, decided by the environment, and by the names on the session bus where they are known.
package struct AutomaticBackends: Sendable, Hashable {
    /// Whether a kind is chosen, and why.
    package struct Choice: Sendable, Hashable {
        /// The name of the kind.
        package var kind: String
        package var isChosen: Bool
        /// Why, or why not.
        package var reason: String
    }

    /// What it is called in a config file.
    package static let name = "auto"

    /// The choices, in the order of the backends.
    package let choices: [Choice]
    /// The app's desktop file, if one is installed.
    let desktopFile: String?
    /// Whether the names on the session bus could change the choice.
    let dependsOnBus: Bool

    /// The names of the chosen kinds.
    package var kinds: [String] { choices.filter(\.isChosen).map(\.kind) }

    /// Makes the choice.
    ///
    /// - Parameters:
    ///   - applicationName: the name of the app, and of its desktop file.
    ///   - hasDesktopFile: whether the configuration names the app's desktop file.
    ///   - environment: the environment of the app.
    ///   - hasTerminal: whether the app has a terminal.
    ///   - busNames: the names with an owner on the session bus; `nil` if they are not known yet.
    package init(
        applicationName: String,
        hasDesktopFile: Bool,
        environment: [String: String],
        hasTerminal: Bool = TerminalDevice.hasControlling,
        busNames: Set<String>?
    ) {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let file = DesktopFile.name(of: applicationName, in: environment).map { $0 + DesktopFile.suffix }
        desktopFile = file
        let desktop = Desktop(environment: environment, busNames: busNames)
        dependsOnBus = desktop.hasBus && desktop.isUnknown

        var choices = [
            Choice(
                kind: "terminalTitle",
                isChosen: hasTerminal,
                reason: hasTerminal ? "the app has a terminal" : "the app has no terminal"
            ),
            Choice(kind: "desktopJob", isChosen: desktop.hasJobs, reason: desktop.reason),
            Choice(
                kind: "desktopNotification",
                isChosen: desktop.isPresent && !desktop.hasJobs,
                reason: desktop.hasJobs ? "the job shows the same" : desktop.reason
            ),
        ]
        let entry: (Bool, String) =
            if desktop.hasJobs {
                (false, "Plasma shows the job in its task manager")
            } else if !desktop.isPresent {
                (false, desktop.reason)
            } else if hasDesktopFile || file != nil {
                (true, "the app has a desktop file")
            } else {
                (false, "there is no '\(applicationName)\(DesktopFile.suffix)', and 'desktopFile' is not set")
            }
        choices.append(Choice(kind: "launcherEntry", isChosen: entry.0, reason: entry.1))
        choices.append(
            Choice(
                kind: "dbusProperty",
                isChosen: desktop.hasBus,
                reason: desktop.hasBus ? "there is a session bus, on which panels may read it" : Desktop.noBus
            )
        )
        let isService = variable("NOTIFY_SOCKET") != nil
        choices.append(
            Choice(
                kind: "systemdStatus",
                isChosen: isService,
                reason: isService
                    ? "NOTIFY_SOCKET is set: this is a service" : "NOTIFY_SOCKET is not set: this is no service"
            )
        )
        self.choices = choices
    }

    /// The user's desktop.
    private struct Desktop {
        static let noBus = "there is no session bus"

        var hasBus = false
        var isPresent = false
        var hasJobs = false
        /// Whether the environment does not name it.
        var isUnknown = false
        var reason = Self.noBus

        init(environment: [String: String], busNames: Set<String>?) {
            #if DBus
            hasBus = DBusAddress.session.mayExist(in: environment)
            #endif
            guard hasBus else { return }
            func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
            // A list, such as ubuntu:GNOME (Desktop Entry Specification, "OnlyShowIn").
            let names = (environment["XDG_CURRENT_DESKTOP"] ?? "").split(separator: ":")
            let shown = QuotedText.shortened(names.joined(separator: ":"))
            hasJobs = names.contains("KDE")
            isPresent = !names.isEmpty
            isUnknown = names.isEmpty
            if isPresent {
                reason = "the desktop is \(shown) (XDG_CURRENT_DESKTOP)"
            } else if isSet("WAYLAND_DISPLAY") || (isSet("DISPLAY") && !isSet("SSH_CONNECTION")) {
                isPresent = true
                reason = "there is a display (WAYLAND_DISPLAY, DISPLAY)"
            } else {
                reason = "there is no desktop: XDG_CURRENT_DESKTOP, WAYLAND_DISPLAY and DISPLAY do not name one"
            }
            // A desktop whose name is not known, such as for a service of the user.
            for name in ["org.freedesktop.Notifications", "org.kde.JobViewServer"] where isUnknown {
                guard busNames?.contains(name) == true else { continue }
                isPresent = true
                hasJobs = name == "org.kde.JobViewServer"
                reason = "\(name) is on the session bus"
            }
        }
    }
}

#if DBus
extension AutomaticBackends {
    /// The names with an owner on the session bus; `nil` if it does not answer. Blocks for at most three seconds.
    package static func busNames(in environment: [String: String]) async -> Set<String>? {
        final class NameList: BusSession {
            func begin(on bus: BusShare) async throws -> String {
                guard case .strings(let names)? = try await bus.callBus("ListNames").first else { return "" }
                return names.joined(separator: "\n")
            }
        }
        guard let address = try? DBusAddress.session.resolved(in: environment),
            let names = try? await BusSurface.probe(.session, at: address, makeSession: { _ in NameList() })
        else { return nil }
        return Set(names.split(separator: "\n").map(String.init))
    }
}
#else
extension AutomaticBackends {
    /// The names with an owner on the session bus: not known without the trait `DBus`.
    package static func busNames(in environment: [String: String]) async -> Set<String>? { nil }
}
#endif
