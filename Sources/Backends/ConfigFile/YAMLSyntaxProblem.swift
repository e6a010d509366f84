import Yams

/// A syntax error of Yams, in the words of somebody who edits a config file.
///
/// libYAML's own texts name states of its scanner ("mapping values are not allowed in this context"); the ones that occur
/// in practice are translated, the others are passed on.
struct YAMLSyntaxProblem {
    var position: TextPosition
    var message: String
    var isUndefinedAlias = false
    var isSecondDocument = false

    init(_ error: YamlError, in text: TextLines) {
        switch error {
        case .scanner(let context, let problem, let mark, _),
            .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            // libYAML finds what is missing at the end of the file on the line after the last one.
            position = min(TextPosition(mark), text.lastPosition)
            let opened = min(context.map { TextPosition($0.mark) } ?? position, text.lastPosition)
            message = ""
            describe(problem, context: context?.text ?? "", opened: opened, in: text)
        case .reader(let problem, _, _, _):
            (position, message) = (TextPosition(line: 1, column: 1), "not valid YAML: \(problem)")
        default:
            (position, message) = (TextPosition(line: 1, column: 1), "not valid YAML: \(error)")
        }
    }

    /// Finds the words for a problem of libYAML, which is at `position` and belongs to what began at `opened`.
    private mutating func describe(_ problem: String, context: String, opened: TextPosition, in text: TextLines) {
        let place = position
        if context.contains("quoted scalar"), problem.contains("unexpected") {
            self.position = opened
            message = "this text has no closing quote"
        } else if let comment = Self.comment(on: min(opened.line, place.line - 1)...place.line, in: text) {
            (self.position, message) = comment
        } else if text[place] == ",", problem.contains("did not find expected") {
            message = "a ',' cannot stand here; remove it"
        } else if context.contains("flow sequence") || context.contains("flow mapping") {
            (self.position, message) = Self.unclosed(context: context, opened: opened, place: place, in: text)
        } else if problem.contains("another document") {
            isSecondDocument = true
            message = "a second YAML document begins here; expected one"
        } else if problem.contains("undefined alias") {
            isUndefinedAlias = true
            message = "this alias has no '&' with its name above it"
        } else if problem.contains("Maximum nesting level") {
            message = "nested too deep; settings are at most a section deep"
        } else if let tab = Self.tab(problem: problem, at: place, in: text) {
            (self.position, message) = tab
        } else if problem.contains("cannot start any token"), let found = text[place] {
            message = "a value cannot begin with '\(QuotedText.shortened(String(found)))'; put quotes around it"
        } else if problem.contains("mapping values are not allowed") {
            (self.position, message) = Self.unexpectedColon(at: place, in: text)
        } else if problem.contains("could not find expected ':'") {
            self.position = opened
            message = "expected ':' and a value after this name"
        } else if problem.contains("did not find expected key") {
            message = Self.expectedKey(at: place, in: text)
        } else if let (_, words) = Self.words.first(where: { problem.contains($0.problem) }) {
            message = words
        } else {
            message = "not valid YAML: \(context.isEmpty ? "" : "\(context): ")\(problem)"
        }
    }

    /// What needs no more than other words.
    private static let words: [(problem: String, words: String)] = [
        ("Maximum nesting level", "nested too deep; settings are at most a section deep"),
        (
            "did not find expected '-' indicator",
            "expected '- ' and another value of the list here; check how far the line is indented"
        ),
        (
            "<document start>",
            "this does not belong to what stands above it; expected 'key: value' lines, all indented equally"
        ),
        (
            "unknown escape character",
            "unknown escape after '\\'; write '\\\\' for a backslash, or put the text in single quotes"
        ),
        ("invalid Unicode character escape", "this escape is no character; write the character itself"),
        (
            "block sequence entries are not allowed",
            "a list cannot begin on this line; put it on the lines below the key, or in brackets: [a, b]"
        ),
    ]

    /// A comment as other languages write it.
    private static func comment(on numbers: ClosedRange<Int>, in text: TextLines) -> (TextPosition, String)? {
        for number in numbers {
            let line = ContentLine(text[number])
            guard line.text.hasPrefix("//") || line.text.hasPrefix("/*") else { continue }
            let start = TextPosition(line: number, column: line.indentation + 1)
            return (start, "a comment begins with '#', not with '\(line.text.prefix(2))'")
        }
        return nil
    }

    /// A list or map in brackets that does not go on as it should.
    private static func unclosed(
        context: String,
        opened: TextPosition,
        place: TextPosition,
        in text: TextLines
    ) -> (TextPosition, String) {
        let isList = context.contains("sequence")
        let expected = isList ? "',' or ']'" : "',' or '}'"
        if place.line == opened.line, let found = text[place], ![" ", "#"].contains(found) {
            let hint = isList ? "" : "; put quotes around a text that begins with '{'"
            return (place, "expected \(expected) before '\(QuotedText.shortened(String(found)))'\(hint)")
        }
        return (opened, "this '\(isList ? "[" : "{")' is not closed; expected \(expected) by line \(place.line)")
    }

    /// A colon where a value is going on already, which has one of three reasons.
    private static func unexpectedColon(
        at place: TextPosition,
        in text: TextLines
    ) -> (TextPosition, String) {
        let line = ContentLine(text[place.line])
        let above = (1..<max(place.line, 1)).reversed().lazy.map { (number: $0, line: ContentLine(text[$0])) }
            .first { !$0.line.isEmpty }
        if line.hasValue(before: place.column) {
            return (place, "a ':' cannot stand here; put quotes around a text with ': ' in it")
        }
        if let above, above.line.indentation == line.indentation, !above.line.hasValue() {
            let start = TextPosition(line: above.number, column: above.line.indentation + 1)
            let found = QuotedText.shortened(above.line.text)
            let hint = found.contains(":") ? "; put a space after the ':'" : ""
            return (start, "expected 'key: value', found '\(found)'\(hint)")
        }
        let start = TextPosition(line: place.line, column: line.indentation + 1)
        return (start, "this line is indented too far, or the one above has a value that it should not have")
    }

    /// Something in place of a key: a line that is indented wrongly, or more text after a value that is complete.
    private static func expectedKey(at place: TextPosition, in text: TextLines) -> String {
        if let opening = ContentLine(text[place.line]).firstOfValue(before: place.column) {
            switch opening {
            case "{", "[":
                return
                    "found more text after a value in brackets; put quotes around a text that begins with '\(opening)'"
            case "\"", "'": return "found more text after the closing quote"
            default: break
            }
        }
        return "expected 'key: value' here; check how far the line is indented"
    }

    /// A tab where YAML wants spaces. It says so in several ways, or not at all.
    private static func tab(
        problem: String,
        at place: TextPosition,
        in text: TextLines
    ) -> (TextPosition, String)? {
        let message = "found a tab; YAML is indented with spaces only"
        if text[place] == "\t" { return (place, message) }
        let line = text[place.line]
        let indentation = line.prefix { $0 == " " || $0 == "\t" }
        guard let tab = indentation.firstIndex(of: "\t") else { return nil }
        return (TextPosition(line: place.line, column: tab + 1), message)
    }
}

/// A line of a YAML file, looked at without knowing what is around it.
private struct ContentLine {
    var indentation: Int
    var text: String

    init(_ line: [Unicode.Scalar]) {
        indentation = line.prefix { $0 == " " || $0 == "\t" }.count
        var view = String.UnicodeScalarView()
        view.append(contentsOf: line.dropFirst(indentation))
        text = String(view)
    }

    /// Whether there is nothing, or only a comment.
    var isEmpty: Bool { text.isEmpty || text.hasPrefix("#") }

    /// Whether the line has the form `key: value` or `key:`, within its first characters.
    func hasValue(before column: Int = .max) -> Bool {
        valueStart(before: column) != nil
    }

    /// The first character of the value.
    func firstOfValue(before column: Int) -> Character? {
        guard let start = valueStart(before: column) else { return nil }
        return text[start...].first { $0 != " " }
    }

    private func valueStart(before column: Int) -> String.Index? {
        let end = column == .max ? text.count : max(0, column - 1 - indentation)
        let part = text.prefix(end)
        if let range = part.firstRange(of: ": ") { return range.upperBound }
        return column == .max && text.hasSuffix(":") ? text.endIndex : nil
    }
}
