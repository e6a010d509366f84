import DisplayText
import Yams

/// A syntax error of Yams, in terms that the author of a config file understands.
///
/// libYAML's own messages describe states of its scanner ("mapping values are not allowed in this context"). Those that
/// occur in practice are replaced, the others are passed on.
struct YAMLSyntaxProblem {
    private(set) var position = TextPosition(line: 1, column: 1)
    private(set) var message = ""

    private let text: TextLines
    /// Where libYAML found the problem, and where the construct that it was reading begins.
    private var place = TextPosition(line: 1, column: 1)
    private var opened = TextPosition(line: 1, column: 1)

    init(_ error: any Error, in text: TextLines) {
        self.text = text
        switch error {
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _):
            // libYAML reports what is missing at the end of the file on the line after the last one.
            place = min(TextPosition(mark), text.lastPosition)
            opened = min(context.map { TextPosition($0.mark) } ?? place, text.lastPosition)
            position = place
            describe(problem, context: context?.text ?? "")
        default: message = "not valid YAML: \(error)"
        }
    }

    private mutating func describe(_ problem: String, context: String) {
        if context.contains("quoted scalar"), problem.contains("unexpected") {
            (position, message) = (opened, "this string has no closing quote")
        } else if describeComment() {
            return
        } else if text[place] == ",", problem.contains("did not find expected") {
            message = "unexpected ','; remove it"
        } else if context.contains("flow sequence") || context.contains("flow mapping") {
            describeBrackets(isList: context.contains("sequence"))
        } else if problem.contains("another document") {
            message = "a second YAML document begins here; expected one"
        } else if problem.contains("Maximum nesting level") {
            message = "nested too deeply; settings are at most one section deep"
        } else if let tab = tabPosition {
            (position, message) = (tab, "found a tab; YAML is indented with spaces")
        } else if problem.contains("cannot start any token"), let found = text[place] {
            message = "a value cannot begin with '\(QuotedText.shortened(String(found)))'; put quotes around it"
        } else if problem.contains("mapping values are not allowed") {
            describeColon()
        } else if problem.contains("could not find expected ':'") {
            (position, message) = (opened, "expected ':' and a value after this name")
        } else if problem.contains("did not find expected key") {
            describeMissingKey()
        } else if problem.contains("<document start>") {
            message = "unexpected after the lines above; expected 'key: value' lines with the same indentation"
        } else if problem.contains("unknown escape character") {
            message = "unknown escape after '\\'; write '\\\\' for a backslash, or put the string in single quotes"
        } else {
            message = "not valid YAML: \(context.isEmpty ? "" : "\(context): ")\(problem)"
        }
    }

    /// A comment as other languages write it. Returns whether there is one.
    private mutating func describeComment() -> Bool {
        for number in min(opened.line, place.line - 1)...place.line {
            let line = ContentLine(text[number])
            guard line.text.hasPrefix("//") || line.text.hasPrefix("/*") else { continue }
            position = TextPosition(line: number, column: line.indentation + 1)
            message = "a comment begins with '#', not with '\(line.text.prefix(2))'"
            return true
        }
        return false
    }

    /// A list or map in brackets with an unexpected token.
    private mutating func describeBrackets(isList: Bool) {
        let expected = isList ? "',' or ']'" : "',' or '}'"
        if place.line == opened.line, let found = text[place], ![" ", "#"].contains(found) {
            let hint = isList ? "" : "; put quotes around a string that begins with '{'"
            message = "expected \(expected) before '\(QuotedText.shortened(String(found)))'\(hint)"
        } else {
            position = opened
            message = "this '\(isList ? "[" : "{")' is not closed; expected \(expected) by line \(place.line)"
        }
    }

    /// A colon within a value, which has one of three causes.
    private mutating func describeColon() {
        let line = ContentLine(text[place.line])
        let number = (1..<max(place.line, 1)).last { !ContentLine(text[$0]).isEmpty }
        if line.valueStart(before: place.column) != nil {
            message = "unexpected ':'; put quotes around a string with ': ' in it"
        } else if let number, case let above = ContentLine(text[number]), above.indentation == line.indentation,
            above.valueStart() == nil
        {
            position = TextPosition(line: number, column: above.indentation + 1)
            // Without what follows the name, which may be a secret.
            let end = above.text.firstIndex { $0 == ":" || $0 == " " }
            let found = end.map { ", found '\(QuotedText.shortened(String(above.text[...$0])))…'" } ?? ""
            let hint = end.map { above.text[$0] } == ":" ? "; put a space after the ':'" : ""
            message = "expected 'key: value'\(found)\(hint)"
        } else {
            position = TextPosition(line: place.line, column: line.indentation + 1)
            message = "this line is indented too far, or the one above must not have a value"
        }
    }

    /// Something in place of a key: a line with the wrong indentation, or more text after a complete value.
    private mutating func describeMissingKey() {
        let line = ContentLine(text[place.line])
        let opening = line.valueStart(before: place.column).flatMap { line.text[$0...].first { $0 != " " } }
        switch opening {
        case "{"?, "["?:
            let hint = "put quotes around a string that begins with '\(opening ?? "{")'"
            message = "found more text after a value in brackets; \(hint)"
        case "\""?, "'"?: message = "found more text after the closing quote"
        default: message = "expected 'key: value' here; check the indentation of the line"
        }
    }

    /// The position of a tab in place of spaces. libYAML reports it in several ways, or not at all.
    private var tabPosition: TextPosition? {
        if text[place] == "\t" { return place }
        let indentation = text[place.line].prefix { $0 == " " || $0 == "\t" }
        return indentation.firstIndex(of: "\t").map { TextPosition(line: place.line, column: $0 + 1) }
    }
}

/// A line of a YAML file, without its context.
private struct ContentLine {
    var indentation: Int
    var text: String

    init(_ line: [Unicode.Scalar]) {
        indentation = line.prefix { $0 == " " || $0 == "\t" }.count
        text = String(String.UnicodeScalarView(line.dropFirst(indentation)))
    }

    /// Whether the line is blank or only has a comment.
    var isEmpty: Bool { text.isEmpty || text.hasPrefix("#") }

    /// Where the value begins, if the line, up to the column, has the form `key: value` or `key:`.
    func valueStart(before column: Int = .max) -> String.Index? {
        let end = column == .max ? text.count : max(0, column - 1 - indentation)
        if let range = text.prefix(end).firstRange(of: ": ") { return range.upperBound }
        return column == .max && text.hasSuffix(":") ? text.endIndex : nil
    }
}
