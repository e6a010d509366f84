import Foundation

extension String {
    /// The text with control characters, line separators and formatting characters, such as those that change the
    /// writing direction, replaced by spaces.
    var withoutControls: String {
        var safe = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: safe.append(" ")
            default: safe.append(scalar)
            }
        }
        return String(safe)
    }
}

extension URL {
    /// The URL without user name, password and query values, for messages.
    var withoutSecrets: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "an invalid URL" }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        let hasQuery = parts.query?.isEmpty == false
        parts.query = nil
        return (parts.string ?? "an invalid URL").withoutControls + (hasQuery ? "?…" : "")
    }
}
