import Foundation

extension String {
    /// The text without what could change how the text around it is shown: control characters, line separators, and the
    /// formatting characters that turn the direction of writing. Each becomes a space.
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
    /// The URL without names, passwords, and the values in its query: for messages.
    var withoutSecrets: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return "an invalid URL" }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        let hasQuery = parts.query?.isEmpty == false
        parts.query = nil
        return (parts.string ?? "an invalid URL").withoutControls + (hasQuery ? "?…" : "")
    }
}
