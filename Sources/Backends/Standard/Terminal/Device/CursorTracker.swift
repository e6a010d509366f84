import IndicatorCore
import Foundation

/// Follows the app's own text on a terminal, to know when lines below the cursor damage none of it.
///
/// A pure value. It knows what lines of text consist of: characters, line breaks, colours, titles, erasing (ECMA-48).
/// Anything else that moves the cursor, or saves its position, makes it uncertain, and ``allowsLines`` is `false` until
/// the rest of the window is erased or the other screen is left.
struct CursorTracker: Sendable {
    private var size = TerminalDevice.Size()
    /// The column of the cursor: as many as the window has after a character in its last column, because a terminal
    /// delays the line break. The largest possible one if it is not exact.
    private var column = 0
    private var isExact = true
    /// The columns of the cursor's row that may have text.
    private var extent = 0
    /// Whether the row continues an earlier one.
    private var isContinued = false
    /// Whether the cursor may be anywhere, or another position is saved.
    private var isUncertain = false
    /// Whether the window has been erased since the last character.
    private var isBlank = false
    /// On the other screen, from which the cursor returns to where it was, or within margins: nothing is followed.
    private var isElsewhere = false

    /// Where the text stops.
    private enum State: Sendable {
        case text
        /// After ESC, and its intermediate bytes.
        case escape
        /// In a CSI sequence, with its parameter and intermediate bytes.
        case sequence
        /// In a string such as OSC, until ST, or until BEL.
        case string
        case stringEscape
    }

    private var state = State.text
    private var parameters: [UInt8] = []
    /// The bytes of an incomplete character.
    private var partial: [UInt8] = []

    /// Whether the text stops between two control sequences, so that others may write some. An incomplete character
    /// does not count: its rest may never come.
    var isBetweenSequences: Bool { state == .text }

    /// Whether lines can be drawn below the cursor: it is on the lowest row of the text of the normal screen, and not
    /// behind its last column.
    var allowsLines: Bool { isBetweenSequences && column < size.columns && !isUncertain && !isElsewhere }

    /// Whether there may be text to the right of the cursor.
    var hasTextBehind: Bool { column < extent }

    /// Assumes that the cursor is at the start of an empty line: others have written, and probably ended their lines.
    mutating func assumeStartOfLine() {
        (column, isExact, extent, isContinued) = (0, true, 0, false)
    }

    /// Follows a change of the window's size.
    mutating func resize(to size: TerminalDevice.Size) {
        guard size != self.size else { return }
        // Terminals wrap lines again. What fits into both windows stays.
        let narrower = self.size.isKnown ? min(size.columns, self.size.columns) : size.columns
        let isMoved = isContinued || max(extent, column) >= narrower
        self.size = size
        if isMoved { setInexact() }
    }

    /// Follows a text.
    mutating func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
        var index = 0
        while index < bytes.count {
            let start = index
            if state == .text, partial.isEmpty {
                while index < bytes.count, 0x20..<0x7F ~= bytes[index] { index += 1 }
            }
            if index > start { print(columns: index - start) } else { receive(bytes[index]) }
            if index == start { index += 1 }
        }
    }

    private mutating func receive(_ byte: UInt8) {
        switch state {
        case .text where byte < 0x20 || byte == 0x7F: control(byte)
        case .text: text(byte)
        case .string where byte == Self.escape: state = .stringEscape
        case .string: if [Self.bell, Self.cancel, Self.substitute].contains(byte) { state = .text }
        case .stringEscape where byte == UInt8(ascii: "\\"): state = .text
        case .stringEscape, .escape, .sequence:
            // In a sequence, ESC begins another one, CAN and SUB end it, and other control characters are executed.
            switch byte {
            case Self.escape: (state, parameters) = (.escape, [])
            case Self.cancel, Self.substitute: state = .text
            case ..<0x20: control(byte)
            default: sequence(byte)
            }
        }
    }

    // MARK: - Text

    private mutating func text(_ byte: UInt8) {
        // A character that is not completed.
        if byte & 0xC0 != 0x80 { endPartial() }
        partial.append(byte)
        // The number of bytes of a character in UTF-8 follows from the first one.
        let count = byte < 0x80 ? 1 : partial[0] >= 0xF0 ? 4 : partial[0] >= 0xE0 ? 3 : partial[0] >= 0xC0 ? 2 : 1
        guard partial.count >= count else { return }
        let scalars = String(decoding: partial, as: UTF8.self).unicodeScalars
        // Otherwise not UTF-8, or another character set.
        guard scalars.count == 1, let scalar = scalars.first, scalar != "\u{FFFD}" else { return endPartial() }
        partial = []
        let columns = SafeText.columns(of: Character(scalar))
        // A wide character is not divided: the last column stays empty.
        if columns == 2, column == size.columns - 1 { column += 1 }
        print(columns: columns, isCertain: LiveLine.hasCertainWidth(scalar))
    }

    private mutating func endPartial() {
        if !partial.isEmpty { print(columns: partial.count, isCertain: false) }
        partial = []
    }

    /// Follows characters of one column each, or a single one.
    private mutating func print(columns count: Int, isCertain: Bool = true) {
        if isElsewhere { return }
        isBlank = false
        isExact = isExact && isCertain
        let end = column + (isCertain ? count : 2)
        if end > size.columns, size.isKnown {
            guard isExact else { return setInexact() }
            isContinued = true
            column = (end - 1) % size.columns + 1
            extent = 0
        } else {
            column = end
        }
        extent = max(extent, column)
    }

    private mutating func setInexact() { (column, isExact, extent) = (size.columns, false, size.columns) }

    private mutating func control(_ byte: UInt8) {
        endPartial()
        switch byte {
        case Self.escape: (state, parameters) = (.escape, [])
        case _ where isElsewhere: break
        case UInt8(ascii: "\r"):
            if !isExact { extent = size.columns }
            (column, isExact) = (0, true)
        case UInt8(ascii: "\n"), 0x0B, 0x0C:
            (column, isExact, extent, isContinued) = (0, true, 0, false)
        case 0x08: column = max(min(column, size.columns - 1) - 1, 0)
        case UInt8(ascii: "\t"): column = max(column, min(column / 8 * 8 + 8, size.columns - 1))
        default: break
        }
    }

    // MARK: - Sequences

    private mutating func sequence(_ byte: UInt8) {
        switch state {
        case .sequence where byte < 0x40:
            if parameters.count < 64 { parameters.append(byte) }
        case .sequence:
            state = .text
            perform(byte)
        default: escape(byte)
        }
    }

    private mutating func escape(_ byte: UInt8) {
        state = .text
        switch Character(Unicode.Scalar(byte)) {
        case "[": state = .sequence
        // OSC, DCS, SOS, PM, APC, and the title of GNU screen.
        case "]", "P", "X", "^", "_", "k": state = .string
        case " "..."/": state = .escape
        case "c":
            let size = size
            self = CursorTracker()
            self.size = size
        case "7", "8", "D", "E", "H", "M": isUncertain = isUncertain || !isElsewhere
        default: break
        }
    }

    private mutating func perform(_ final: UInt8) {
        let text = String(decoding: parameters, as: UTF8.self)
        switch Character(Unicode.Scalar(final)) {
        case "m", "n", "c", "q": break
        case "h" where Self.otherScreens.contains(text): isElsewhere = true
        // The newest one restores the cursor.
        case "l" where Self.otherScreens.contains(text):
            (isElsewhere, isUncertain) = (false, isUncertain || text != "?1049")
        case "r": (isElsewhere, isUncertain) = (isElsewhere || !text.isEmpty, true)
        case _ where isElsewhere: break
        // Within the row, to where is known after the next line break.
        case "C", "D", "G", "a", "j", "`": setInexact()
        // Behind the cursor, there is nothing left.
        case "J" where text.isEmpty || text == "0": (extent, isUncertain) = (min(extent, column), false)
        case "J" where text == "2" || text == "3": (extent, isUncertain, isBlank) = (0, false, true)
        case "K" where text.isEmpty || text == "0": extent = min(extent, column)
        case "K" where text == "2": extent = 0
        case "K", "J": break
        case "H", "f":
            (column, isExact, extent) = (isBlank ? 0 : size.columns - 1, isBlank, isBlank ? 0 : size.columns)
            isUncertain = isUncertain || !isBlank
        // Without line breaks at the margin.
        case "l" where text == "?7": isUncertain = true
        // Titles and what else is known not to move.
        case "t", "h", "l": break
        default: isUncertain = true
        }
    }

    private static let otherScreens = ["?1049", "?1047", "?47"]
    private static let bell: UInt8 = 0x07
    private static let cancel: UInt8 = 0x18
    private static let substitute: UInt8 = 0x1A
    private static let escape: UInt8 = 0x1B
}
