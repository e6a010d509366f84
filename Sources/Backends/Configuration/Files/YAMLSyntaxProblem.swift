import DisplayText
import Yams

/// A position in a text. Lines and columns count from 1; columns count Unicode scalars, as in YAML's own positions.
package struct TextPosition: Hashable {
    var line: Int
    var column: Int
}

extension TextPosition {
    init(_ mark: Mark?) {
        self.init(line: max(mark?.line ?? 1, 1), column: max(mark?.column ?? 1, 1))
    }
}

/// A syntax error of Yams, in terms that the author of a config file understands.
///
/// libYAML's own messages describe states of its scanner ("mapping values are not allowed in this context"). Those that
/// occur in practice are replaced, the others are passed on.
struct YAMLSyntaxProblem {
    private(set) var position = TextPosition(line: 1, column: 1)
    private(set) var message = ""

    init(_ error: any Error, in text: String) {
        switch error {
        case YamlError.scanner(let context, let problem, let mark, _),
            YamlError.parser(let context, let problem, let mark, _),
            YamlError.composer(let context, let problem, let mark, _):
            position = TextPosition(mark)
            let opened = context.map { TextPosition($0.mark) } ?? position
            let text = context.map { "\($0.text): \(problem)" } ?? problem
            describe(text, opened: opened)
            if problem.contains("could not find expected ':'") || message.contains("closing quote") {
                position = opened
            }
        default: message = "not valid YAML: \(error)"
        }
        // libYAML reports it in several ways.
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        guard lines.indices.contains(position.line - 1) else { return }
        let indentation = lines[position.line - 1].prefix { $0 == " " || $0 == "\t" }
        if let tab = indentation.firstIndex(of: "\t") {
            position.column = indentation.distance(from: indentation.startIndex, to: tab) + 1
            message = "found a tab; YAML is indented with spaces"
        }
    }

    private mutating func describe(_ problem: String, opened: TextPosition) {
        func isAbout(_ parts: String...) -> Bool { parts.contains(where: problem.contains) }
        message =
            if isAbout("quoted scalar: found unexpected") {
                "this string has no closing quote"
            } else if isAbout("flow sequence", "flow mapping") {
                "expected ',' or the end of what begins with a bracket in line \(opened.line), column \(opened.column)"
            } else if isAbout("another document") {
                "a second YAML document begins here; expected one"
            } else if isAbout("Maximum nesting level") {
                "nested too deeply; settings are at most one section deep"
            } else if isAbout("cannot start any token") {
                "a value cannot begin with this character; put quotes around it"
            } else if isAbout("mapping values are not allowed") {
                "unexpected ':'; in this line or the one above, a space after a ':' is missing (a no-break space is "
                    + "none), the indentation is wrong, or a text with ': ' in it needs quotes"
            } else if isAbout("could not find expected ':'") {
                "expected ': ' and a value after this name"
            } else if isAbout("did not find expected key", "<document start>") {
                "expected 'key: value' here; check the indentation of the line, and put quotes around a text with "
                    + "brackets or quotes in it"
            } else if isAbout("unknown escape character") {
                "unknown escape after '\\'; write '\\\\' for a backslash, or put the string in single quotes"
            } else {
                "not valid YAML: \(problem)"
            }
    }
}
