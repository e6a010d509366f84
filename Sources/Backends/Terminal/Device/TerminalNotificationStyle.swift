import BackendConfiguration
import DisplayText
import Foundation
import Synchronization

/// The control sequence for a notification. Texts must be free of control characters.
enum TerminalNotificationStyle: Sendable, Hashable {
    /// OSC 99, https://sw.kovidgoyal.net/kitty/desktop-notifications
    case kitty
    /// OSC 777, first of urxvt, whose extension is rarely installed.
    case titleAndBody
    /// OSC 9, of iTerm2.
    case text

    /// How many notifications were made: one with the identifier of another replaces it.
    private static let count = Atomic(0)

    func sequence(for notice: OutcomeNotice) -> String {
        switch self {
        case .kitty:
            // Two parts of one notification, which a focused window does not show.
            let number = Self.count.add(1, ordering: .relaxed).newValue
            let common = "i=indicator-\(getpid())-\(number):o=unfocused"
            return "\u{1B}]99;\(common):d=0;\(notice.title)\u{1B}\\\u{1B}]99;\(common):p=body;\(notice.body)\u{1B}\\"
        case .titleAndBody:
            // A semicolon ends the title.
            return "\u{1B}]777;notify;\(notice.title.replacing(";", with: ","));\(notice.body)\u{1B}\\"
        case .text:
            // A number followed by a semicolon is another command.
            let text = "\(notice.title): \(notice.body)".replacing(";", with: ",")
            return "\u{1B}]9;\(text)\u{1B}\\"
        }
    }
}
