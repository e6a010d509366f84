import BackendConfiguration
import DisplayText

/// The user's desktop, as the environment describes it.
struct DesktopSituation {
    static let noBus = "there is no session bus"

    var isPresent = false
    var hasJobs = false
    var reason = Self.noBus

    init(_ place: AutomaticPlace) {
        let environment = place.environment
        guard DBusAddress.session.mayExist(in: environment) else { return }
        func isSet(_ name: String) -> Bool { environment[name]?.isEmpty == false }
        // A list, such as ubuntu:GNOME (Desktop Entry Specification, "OnlyShowIn").
        let names = (environment["XDG_CURRENT_DESKTOP"] ?? "").split(separator: ":")
        hasJobs = names.contains("KDE")
        isPresent = true
        if !names.isEmpty {
            reason = "the desktop is \(QuotedText.shortened(names.joined(separator: ":"))) (XDG_CURRENT_DESKTOP)"
        } else if isSet("WAYLAND_DISPLAY") || (isSet("DISPLAY") && !isSet("SSH_CONNECTION")) {
            reason = "there is a display (WAYLAND_DISPLAY, DISPLAY)"
        } else {
            isPresent = false
            reason = "there is no desktop: XDG_CURRENT_DESKTOP, WAYLAND_DISPLAY and DISPLAY do not name one"
        }
    }
}
