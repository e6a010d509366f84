import Foundation

extension String {
    /// The text for a reader of markup, with `&`, `<` and `>` escaped.
    package var escapedForMarkup: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
