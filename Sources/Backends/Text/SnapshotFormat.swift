public import Foundation
public import IndicatorCore

/// A text with placeholders that says how a snapshot is put into words, such as `{spinner} {label} ({count}) - {app}`.
///
/// | placeholder | stands for | empty when |
/// |---|---|---|
/// | `{app}` | the name of the app | never |
/// | `{label}` | the label of the earliest-started activity that has one | none has |
/// | `{count}` | how many activities are in progress | fewer than two are |
/// | `{progress}` | the progress in percent, such as `40%` | it is not known |
/// | `{elapsed}` | how long the indicator has been shown, such as `1:05` | it is hidden |
/// | `{remaining}` | how long the rest will take at the present rate, such as `0:40` | that cannot be told yet |
/// | `{done}` | what the activity has done, such as `12.3 MB` or `3` | it counts nothing |
/// | `{total}` | how much it has to do, such as `40.0 MB` | that is not known |
/// | `{rate}` | how fast it gets on, such as `3.1 MB/s` | that cannot be told yet |
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
        /// How long the indicator has been shown.
        case elapsed
        /// How long the rest will take at the present rate.
        case remaining
        /// What the activity of the label has done.
        case done
        /// How much it has to do.
        case total
        /// How fast it gets on.
        case rate
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

    /// Whether the text changes although the snapshot does not: it is to be made anew every second.
    package var showsTime: Bool { placeholders.contains(.elapsed) }

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
    ///   - now: the time, for `{elapsed}`.
    public func text(
        for snapshot: IndicatorSnapshot,
        applicationName: String,
        spinner: String = "",
        valueLimit: Int = defaultValueLimit,
        now: Date = Date()
    ) -> String {
        var composition = Composition()
        for piece in pieces {
            switch piece {
            case .literal(let text): composition.append(literal: text)
            case .placeholder(.app):
                composition.append(value: DisplayText.singleLine(applicationName, limit: valueLimit))
            case .placeholder(.label):
                // What the user is asked for belongs to it.
                let label = [snapshot.label, snapshot.attention].compactMap(\.self).joined(separator: ": ")
                composition.append(value: DisplayText.singleLine(label, limit: valueLimit))
            case .placeholder(.count):
                composition.append(value: snapshot.activityCount > 1 ? String(snapshot.activityCount) : "")
            case .placeholder(.progress):
                composition.append(value: Percentage(snapshot.progress).map { "\($0.value)%" } ?? "")
            case .placeholder(.spinner): composition.append(value: spinner)
            case .placeholder(.elapsed):
                composition.append(value: snapshot.isVisible ? Self.time(snapshot.elapsed(at: now)) : "")
            case .placeholder(.remaining):
                let remaining = snapshot.isVisible ? snapshot.activities.first?.remaining : nil
                composition.append(value: remaining.map { Self.time($0 / .seconds(1)) } ?? "")
            case .placeholder(.done): composition.append(value: snapshot.activities.first?.doneText ?? "")
            case .placeholder(.total): composition.append(value: snapshot.activities.first?.totalText ?? "")
            case .placeholder(.rate): composition.append(value: snapshot.activities.first?.rateText ?? "")
            }
        }
        return composition.finished()
    }

    /// Whole seconds as `m:ss` or `h:mm:ss`, at most 99 hours.
    static func time(_ seconds: TimeInterval) -> String {
        let seconds = Int(min(max(seconds, 0), 359_999))
        func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let minutes = seconds / 60 % 60
        let rest = twoDigits(seconds % 60)
        return seconds < 3600 ? "\(minutes):\(rest)" : "\(seconds / 3600):\(twoDigits(minutes)):\(rest)"
    }
}

extension IndicatorSnapshot {
    fileprivate func elapsed(at now: Date) -> TimeInterval { now.timeIntervalSince(since) }
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
            // One separator stays between what is around the gap: the one before it, or if that is only spaces, the
            // other, unless it belongs to the value, as a colon does.
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

/// A known progress as a whole number of percent, 0…100.
package struct Percentage: Sendable, Hashable {
    package let value: Int

    /// The percentage of a progress of 0…1, rounded down so that 100 means finished; `nil` when it is not known.
    package init?(_ progress: Double?) {
        guard let progress, !progress.isNaN else { return nil }
        // 0.29 × 100 is 28.999…, and an indicator's progress is up to 2⁻³² less than the activity's: what is that near
        // to a whole percent is one.
        value = Int((min(max(progress, 0), 1) * 100 + 1e-6).rounded(.down))
    }
}
