/// The screen of a terminal, as far as bars use it: a window that scrolls, and its history.
///
/// ```swift
/// var screen = ScreenEmulator(columns: 80, rows: 24)
/// screen.receive(output)
/// #expect(screen.lines == ["debian-13.iso  ━━━━━━━━━╸──────  16.2 of 40.0 MB"])
/// ```
///
/// It understands the control sequences that the bars of this package write, and lists others as
/// ``unknown``. Like a terminal in raw mode, it moves the cursor to the first column for a carriage return only.
public struct ScreenEmulator {
    private let columns: Int
    private let rows: Int
    private var history: [[Character]] = []
    private var window: [[Character]]
    private var saved = (row: 0, column: 0)
    private var wraps = true
    /// The row of the cursor, from 0.
    public private(set) var row = 0
    /// The column of the cursor, from 0; that after the last one if it is full.
    public private(set) var column = 0
    /// The unknown sequences that it has received.
    public private(set) var unknown: [String] = []

    /// Makes an empty screen.
    public init(columns: Int, rows: Int) {
        (self.columns, self.rows) = (columns, rows)
        window = Array(repeating: [], count: rows)
    }

    /// The lines of the window up to the last that is not empty.
    public var lines: [String] {
        var lines = window.map { line in
            var line = line
            while line.last == " " { line.removeLast() }
            return String(line)
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    /// The first lines, including those that were scrolled out of the window.
    public func all(count: Int) -> [String] {
        (history + window).prefix(count).map { String($0) }
    }

    /// Processes what a program has written. A control sequence must be complete.
    public mutating func receive(_ text: String) {
        var scalars = Array(text.unicodeScalars)[...]
        while let scalar = scalars.popFirst() {
            switch scalar {
            case "\u{1B}":
                switch scalars.popFirst() {
                case "D": lineFeed()
                // SCS: selects ASCII.
                case "(": _ = scalars.popFirst()
                case "7": saved = (row, min(column, columns - 1))
                case "8": (row, column) = saved
                default:
                    let parameter = scalars.prefix { $0.value < 0x40 }
                    scalars = scalars.dropFirst(parameter.count)
                    let text = String(String.UnicodeScalarView(parameter))
                    let number = Int(text) ?? 1
                    switch scalars.popFirst() {
                    case "A": (row, column) = (max(0, row - number), min(column, columns - 1))
                    case "B": (row, column) = (min(row + number, rows - 1), min(column, columns - 1))
                    case "G": column = number - 1
                    case "h" where text == "?7": wraps = true
                    case "l" where text == "?7": wraps = false
                    case "K": erase()
                    case "J":
                        erase()
                        for row in row + 1..<max(rows, row + 1) { window[row] = [] }
                    case "m": break
                    case let other: unknown.append(String(describing: other))
                    }
                }
            case "\r": column = 0
            case "\u{8}": column = max(0, min(column, columns - 1) - 1)
            // In raw mode, a line feed does not return the cursor.
            case "\n": lineFeed()
            case _ where scalar.properties.generalCategory == .format: break
            default:
                if column == columns {
                    if wraps { lineFeed() }
                    column = wraps ? 0 : columns - 1
                }
                while window[row].count <= column { window[row].append(" ") }
                window[row][column] = Character(scalar)
                column += 1
            }
        }
    }

    private mutating func erase() {
        window[row] = Array(window[row].prefix(column))
    }

    private mutating func lineFeed() {
        // Only printing continues after the last column, on the next line.
        column = min(column, columns - 1)
        if row < rows - 1 { row += 1; return }
        history.append(window.removeFirst())
        window.append([])
    }
}
