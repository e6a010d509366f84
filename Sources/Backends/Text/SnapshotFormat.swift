public import IndicatorCore

/// A text with placeholders that says how a snapshot is put into words, such as `{spinner} {label} ({count}) - {app}`.
///
/// | placeholder | stands for | empty when |
/// |---|---|---|
/// | `{app}` | the name of the app | never |
/// | `{label}` | the label of the earliest-started activity that has one | none has |
/// | `{count}` | how many activities are in progress | fewer than two are |
/// | `{progress}` | the progress in percent, such as `40%` | it is not known |
/// | `{spinner}` | a sign that turns, where the surface animates one | the surface does not |
///
/// `{{` and `}}` stand for a brace. Everything else is shown as it is.
///
/// A placeholder that is empty takes the brackets around it along, and of the separators beside it all but one: with no
/// label, the format above gives `⠋ (2) - app`, and `{label} - {app}` gives `app`.
public struct SnapshotFormat: Sendable, Hashable, CustomStringConvertible {
    /// What a format can have put in.
    public enum Placeholder: String, Sendable, Hashable, CaseIterable {
        /// The name of the app.
        case app
        /// The label of the earliest-started activity that has one.
        case label
        /// How many activities are in progress, if more than one is.
        case count
        /// The progress in percent.
        case progress
        /// A sign that turns.
        case spinner
    }

    package enum Piece: Sendable, Hashable {
        case literal(String)
        case placeholder(Placeholder)
    }

    /// How many Unicode scalars of a label, or of the name of the app, are shown unless said otherwise.
    public static let defaultValueLimit = 120

    package let pieces: [Piece]

    /// Reads a format.
    ///
    /// - Throws: ``SnapshotFormatError`` when the text is empty, names an unknown placeholder, or has a brace without
    ///   partner.
    public init(_ text: String) throws(SnapshotFormatError) {
        pieces = try Self.parse(text)
    }

    package init(pieces: [Piece]) {
        self.pieces = pieces
    }

    /// The placeholders that the format uses.
    public var placeholders: Set<Placeholder> {
        Set(
            pieces.compactMap { piece in
                if case .placeholder(let placeholder) = piece { placeholder } else { nil }
            }
        )
    }

    /// The text that the format was read from.
    public var description: String {
        pieces.map { piece in
            switch piece {
            case .literal(let text): text.replacing("{", with: "{{").replacing("}", with: "}}")
            case .placeholder(let placeholder): "{\(placeholder.rawValue)}"
            }
        }.joined()
    }
}

extension SnapshotFormat {
    /// Puts a snapshot into words.
    ///
    /// Label and app name are put on one line and freed of control characters, whatever they contain; the format's own
    /// text is not touched.
    ///
    /// - Parameters:
    ///   - snapshot: what to show.
    ///   - applicationName: the name of the app.
    ///   - spinner: the sign for `{spinner}`; empty where nothing turns.
    ///   - valueLimit: how many Unicode scalars of the label, and of the name of the app, are shown.
    public func text(
        for snapshot: IndicatorSnapshot,
        applicationName: String,
        spinner: String = "",
        valueLimit: Int = defaultValueLimit
    ) -> String {
        var composition = Composition()
        for piece in pieces {
            switch piece {
            case .literal(let text): composition.append(literal: text)
            case .placeholder(.app):
                composition.append(value: DisplayText.singleLine(applicationName, limit: valueLimit))
            case .placeholder(.label):
                composition.append(value: DisplayText.singleLine(snapshot.label ?? "", limit: valueLimit))
            case .placeholder(.count):
                composition.append(value: snapshot.activityCount > 1 ? String(snapshot.activityCount) : "")
            case .placeholder(.progress):
                composition.append(value: Percentage(snapshot.progress).map { "\($0.value)%" } ?? "")
            case .placeholder(.spinner): composition.append(value: spinner)
            }
        }
        return composition.finished()
    }
}

/// A text that is put together from literals and values, and closes the gap that an empty value leaves.
private struct Composition {
    private var text = ""
    /// Where the literal text at the end of `text` begins: what an empty value may take back, without touching a value.
    private var literalStart = 0
    private var isAfterEmptyValue = false

    mutating func append(literal: String) {
        var literal = literal[...]
        if isAfterEmptyValue {
            if let opening = trailingLiteral.last, let closing = Self.brackets[opening], literal.first == closing {
                text.removeLast()
                literal.removeFirst()
            }
            // One separator stays between what is around the gap: the one before it, or if that is only spaces, the other,
            // unless it belongs to the value, as a colon does.
            let separator = literal.prefix(while: Self.isSeparator)
            literal = literal.dropFirst(separator.count)
            isAfterEmptyValue = literal.isEmpty
            if literalStart > 0, separator.first == " ", separator.contains(where: { $0 != " " }),
                trailingLiteral.reversed().prefix(while: Self.isSeparator).allSatisfy({ $0 == " " })
            {
                while trailingLiteral.last == " " { text.removeLast() }
                text += separator
            }
        }
        text += literal
    }

    mutating func append(value: String) {
        if value.isEmpty {
            isAfterEmptyValue = true
        } else {
            text += value
            literalStart = text.count
            isAfterEmptyValue = false
        }
    }

    mutating func finished() -> String {
        if isAfterEmptyValue {
            while let last = trailingLiteral.last, Self.isSeparator(last) { text.removeLast() }
        }
        return text.trimmingSpaces()
    }

    private var trailingLiteral: Substring { text.dropFirst(literalStart) }

    private static let brackets: [Character: Character] = ["(": ")", "[": "]", "{": "}", "<": ">"]

    private static func isSeparator(_ character: Character) -> Bool {
        character == " " || "-–—|·•:,;/".contains(character)
    }
}

extension String {
    fileprivate func trimmingSpaces() -> String {
        var rest = self[...].drop { $0 == " " }
        while rest.last == " " { rest.removeLast() }
        return String(rest)
    }
}
