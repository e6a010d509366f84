package import BackendConfiguration
import DisplayText

/// The user's desktop, as the environment and the names on the session bus describe it.
package struct DesktopSituation {
    static let noBus = "there is no session bus"

    var hasBus = false
    var isPresent = false
    var hasJobs = false
    /// Whether the environment does not name it.
    var isUnknown = false
    package var reason = Self.noBus
    /// Whether the names on the session bus could change it.
    var dependsOnBus: Bool { hasBus && isUnknown }

    package init(_ place: AutomaticPlace) {
        let environment = place.environment
        hasBus = DBusAddress.session.mayExist(in: environment)
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
            guard place.busNames?.contains(name) == true else { continue }
            isPresent = true
            hasJobs = name == "org.kde.JobViewServer"
            reason = "\(name) is on the session bus"
        }
    }

    /// The names with an owner on the session bus; `nil` if it does not answer. Blocks for at most three seconds.
    package static func busNames(in environment: [String: String]) async -> Set<String>? {
        final class NameList: BusSession {
            func begin(on bus: BusLink) async throws -> String {
                guard case .strings(let names)? = try await bus.callBus("ListNames").first else { return "" }
                return names.joined(separator: "\n")
            }
        }
        let probe = BusBackend(name: "names", on: .session, environment: { environment }) { _ in NameList() }
        guard let names = try? await probe.probe() else { return nil }
        return Set(names.split(separator: "\n").map(String.init))
    }
}
