public import Foundation

/// A text with placeholders for the values of a snapshot, such as `{spinner} {label} ({count}) - {app}`.
///
/// | placeholder | value | empty if |
/// |---|---|---|
/// | `{app}` | the name of the app | never |
/// | `{label}` | the label of the earliest activity that has one | none has one |
/// | `{count}` | the number of activities in progress | it is less than two |
/// | `{progress}` | the progress in percent, such as `40%` | it is unknown |
/// | `{elapsed}` | how long the indicator has been shown, such as `1:05` | it is hidden |
/// | `{remaining}` | the remaining time at the current rate, such as `0:40` | it is unknown |
/// | `{done}` | the activity's completed amount, such as `12.3 MB` or `3` | it counts nothing |
/// | `{total}` | its total amount, such as `40.0 MB` | it is unknown |
/// | `{rate}` | its rate, such as `3.1 MB/s` | it is unknown |
/// | `{spinner}` | an animated character, if the surface supports it | it does not |
///
/// `{{` and `}}` are literal braces. Everything else is shown unchanged.
///
/// An empty placeholder also removes the brackets around it, and all but one of the separators beside it: without a
/// label, the format above gives `⠋ (2) - app`, and `{label} - {app}` gives `app`.
public struct SnapshotFormat: Sendable, Hashable, CustomStringConvertible {
    /// The values that a format can contain.
    public enum Placeholder: String, Sendable, Hashable, CaseIterable {
        /// The name of the app.
        case app
        /// The label of the earliest activity that has one.
        case label
        /// The number of activities in progress, if there is more than one.
        case count
        /// The progress in percent.
        case progress
        /// An animated character.
        case spinner
        /// How long the indicator has been shown.
        case elapsed
        /// The remaining time at the current rate.
        case remaining
        /// The completed amount of the activity with the label.
        case done
        /// Its total amount.
        case total
        /// Its rate.
        case rate
    }

    package enum Piece: Sendable, Hashable {
        case literal(String)
        case placeholder(Placeholder)
    }

    /// The default limit for labels and the name of the app, in Unicode scalars.
    @usableFromInline package static let defaultValueLimit = 120

    package let pieces: [Piece]

    /// Reads a format.
    ///
    /// - Throws: if the text is empty, has an unknown placeholder, or has an unmatched brace.
    public init(_ text: String) throws {
        pieces = try Self.parse(text)
    }

    /// `{label} {progress} ({count})`: the default of notifications and services.
    public static let standard = Self(pieces: [
        .placeholder(.label), .literal(" "), .placeholder(.progress), .literal(" ("), .placeholder(.count),
        .literal(")"),
    ])

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

    /// Whether the text changes with time, and must be updated every second.
    public var showsTime: Bool { placeholders.contains(.elapsed) }

    /// The format as text.
    public var description: String {
        // At every launch: `replacing(_:with:)` would load the code that searches texts, 0.2 MiB, and `joined()` makes
        // the runtime search all conformances.
        pieces.reduce(into: "") { text, piece in
            switch piece {
            case .literal(let literal):
                for character in literal {
                    text += String(repeating: character, count: "{}".contains(character) ? 2 : 1)
                }
            case .placeholder(let placeholder): text += "{\(placeholder.rawValue)}"
            }
        }
    }
}

extension SnapshotFormat {
    /// The text for a snapshot.
    ///
    /// The label and the name of the app are put on one line, without control characters. The format's own text is not
    /// changed.
    ///
    /// - Parameters:
    ///   - snapshot: the snapshot to show.
    ///   - applicationName: the name of the app.
    ///   - spinner: the character for `{spinner}`; empty without animation.
    ///   - valueLimit: the limit for the label and the name of the app, in Unicode scalars. Default: 120.
    ///   - now: the current time, for `{elapsed}` of a snapshot that was not made by an indicator.
    public func text(
        for snapshot: IndicatorSnapshot,
        applicationName: String,
        spinner: String = "",
        valueLimit: Int = defaultValueLimit,
        now: Date = Date()
    ) -> String {
        let activity = snapshot.shownActivities.first
        func value(_ placeholder: Placeholder) -> String? {
            switch placeholder {
            case .app: return SafeText.singleLine(applicationName, limit: valueLimit)
            case .label:
                // The request for the user's attention is part of the label.
                let label = [snapshot.label, snapshot.attention].compactMap(\.self).joined(separator: ": ")
                return SafeText.singleLine(label, limit: valueLimit)
            case .count: return snapshot.activityCount > 1 ? String(snapshot.activityCount) : nil
            case .progress: return Percentage(snapshot.progress)?.text()
            case .spinner: return spinner
            case .elapsed: return snapshot.isVisible ? Self.time(snapshot.elapsed(at: now)) : nil
            case .remaining:
                return snapshot.isVisible ? activity?.remaining.map { Self.time($0 / .seconds(1)) } : nil
            case .done: return activity?.doneText()
            case .total: return activity?.totalText()
            case .rate: return activity?.rateText()
            }
        }
        var composition = Composition()
        for piece in pieces {
            switch piece {
            case .literal(let text): composition.append(literal: text)
            case .placeholder(let placeholder): composition.append(value: value(placeholder) ?? "")
            }
        }
        return composition.finished()
    }

    /// Whole seconds as `m:ss` or `h:mm:ss`, at most 99 hours.
    package static func time(_ seconds: TimeInterval) -> String {
        let seconds = Int(min(max(seconds, 0), 359_999))
        func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = seconds / 60 % 60
        let rest = twoDigits(seconds % 60)
        return seconds < 3600 ? "\(minutes):\(rest)" : "\(seconds / 3600):\(twoDigits(minutes)):\(rest)"
    }
}

/// Builds a text from literals and values, and closes the gap of an empty value.
private struct Composition {
    private var text = ""
    /// The start of the literal at the end of `text`, which an empty value may shorten.
    private var literalStart = 0
    private var isAfterEmptyValue = false

    mutating func append(literal: String) {
        var literal = literal[...]
        if isAfterEmptyValue {
            if let opening = trailingLiteral.last, let closing = Self.brackets[opening], literal.first == closing {
                text.removeLast()
                literal.removeFirst()
            }
            // One separator remains at the gap: the one before it, or if that is only spaces, the one after it, unless
            // that belongs to the value, like a colon.
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

/// Reads texts with placeholders: `{label} - {app}`, and with options, `{bar:40.cyan}`.
package struct FormatReader<Name: RawRepresentable & CaseIterable & Sendable> where Name.RawValue == String {
    package enum Piece {
        case literal(String)
        /// The options are the text after a colon; `nil` without one. Their column counts from 1.
        case placeholder(Name, options: String?, column: Int)
    }

    /// Whether placeholders may have options.
    package var allowsOptions = false

    package init(allowsOptions: Bool = false) { self.allowsOptions = allowsOptions }

    package func pieces(of text: String) throws(SnapshotFormatError) -> [Piece] {
        guard !text.isEmpty else { throw .empty }
        var pieces: [Piece] = []
        var literal = ""
        var rest = text[...]
        var column: Int { text.distance(from: text.startIndex, to: rest.startIndex) + 1 }
        while let character = rest.first {
            if rest.hasPrefix("{{") || rest.hasPrefix("}}") {
                literal.append(character)
                rest.removeFirst(2)
            } else if character == "{" {
                guard let end = rest.firstIndex(of: "}") else { throw .unclosedBrace(column: column) }
                let content = rest[rest.index(after: rest.startIndex)..<end]
                let colon = allowsOptions ? content.firstIndex(of: ":") : nil
                let name = String(content[..<(colon ?? end)])
                guard let placeholder = Name(rawValue: name) else {
                    let known = Name.allCases.map(\.rawValue)
                    throw .unknownPlaceholder(name, nearest: nearest(to: name), known: known, column: column)
                }
                if !literal.isEmpty { pieces.append(.literal(literal)) }
                literal = ""
                let options = colon.map { String(content[content.index(after: $0)...]) }
                pieces.append(.placeholder(placeholder, options: options, column: column + name.count + 2))
                rest = rest[rest.index(after: end)...]
            } else if character == "}" {
                throw .strayBrace(column: column)
            } else {
                literal.append(character)
                rest.removeFirst()
            }
        }
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        return pieces
    }

    /// The placeholder that was probably meant by `name`, if any.
    private func nearest(to name: String) -> String? {
        let names = Name.allCases.map(\.rawValue)
        let name = name.filter { !$0.isWhitespace }
        return names.contains(name) ? name : NearestName.find(for: name, among: names)
    }
}

extension SnapshotFormat {
    package static func parse(_ text: String) throws(SnapshotFormatError) -> [Piece] {
        try FormatReader<Placeholder>().pieces(of: text).map { piece in
            switch piece {
            case .literal(let text): .literal(text)
            case .placeholder(let placeholder, _, _): .placeholder(placeholder)
            }
        }
    }
}

/// Why a text is not a format.
package enum SnapshotFormatError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is empty: it would show nothing.
    case empty
    /// There is no placeholder with that name; `nearest` is a similar one, if any. Columns count from 1.
    case unknownPlaceholder(String, nearest: String?, known: [String], column: Int)
    /// A `{` without a `}` after it.
    case unclosedBrace(column: Int)
    /// A `}` without a `{` before it.
    case strayBrace(column: Int)
    /// The options of a placeholder are not a width and styles.
    case invalidOptions(String, column: Int)
    /// There is no style with that name.
    case unknownStyle(String, known: [String], column: Int)

    /// The problem, its position, and what to write instead.
    package var description: String {
        switch self {
        case .empty:
            "the format is empty; write a text, such as '{label} - {app}'"
        case .unknownPlaceholder(let name, let nearest, let known, let column):
            "unknown placeholder '{\(name)}' at character \(column)"
                + (nearest.map { ", did you mean '{\($0)}'? For a brace, write '{{'" }
                    ?? "; known are \(known.map { "{\($0)}" }.joined(separator: " ")); write '{{' and '}}' for literal "
                    + "braces")
        case .unclosedBrace(let column):
            "'{' at character \(column) has no '}'; write '{{' for a literal brace"
        case .strayBrace(let column):
            "'}' at character \(column) has no '{'; write '}}' for a literal brace"
        case .invalidOptions(let options, let column):
            "'\(options)' at character \(column) is not a width and styles; "
                + "write '<', '^' or '>', a width from 1 to 500 and styles, such as '{bar:40.cyan}' or '{rate:>12}'"
        case .unknownStyle(let name, let known, let column):
            "unknown style '\(name)' at character \(column)"
                + NearestName.suggestion(for: name, among: known, listing: "known are")
        }
    }
}
