#if DesktopNotification
/// Makes texts fit for a notification server.
package enum NotificationText {
    /// How many Unicode scalars of a label, or of the app's name, are shown.
    static let valueLimit = 300

    /// `text` as a server shows it that reads markup: `&`, `<` and `>` as entities (Desktop Notifications Specification,
    /// "Markup").
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }

    /// `text` as every D-Bus library can carry it: U+FFFD for a NUL, at which C would cut it, and for Unicode's noncharacters,
    /// which make sd-bus refuse the message.
    package static func valid(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isRefused) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isRefused($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0 || scalar.properties.isNoncharacterCodePoint
    }
}
#endif
