import Foundation
public import IndicatorCore

extension SafeText {
    /// A text for a reader of markup, with `&`, `<` and `>` escaped: many parts of a desktop take their texts as markup.
    public static func markup(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
