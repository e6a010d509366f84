import Foundation

extension SafeText {
    /// A text for a reader of markup, as many parts of a desktop are, with `&`, `<` and `>` escaped.
    public static func markup(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
