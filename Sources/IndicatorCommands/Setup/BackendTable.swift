package import IndicatorBackends
import IndicatorCore

/// The output of `backends`.
package struct BackendTable {
    private let style: TerminalStyle

    package init(style: TerminalStyle) { self.style = style }

    /// The backends, and where each can run or why not.
    package func text(of backends: [BackendAvailability]) -> String {
        // Several may need the same bus.
        var explained: [String: String] = [:]
        return rows(
            [Row(name: "NAME", word: "STATE", texts: ["WHERE, OR WHY NOT"])]
                + backends.map { backend in
                    let title = backend.name == backend.kind ? backend.name : "\(backend.name) (\(backend.kind))"
                    switch backend.availability {
                    case .success(let text) where backend.isUsed:
                        return Row(name: title, word: "available", texts: [text], emphasis: .success)
                    case .success(let text):
                        return Row(name: title, word: "not used", texts: [text])
                    case .failure(let problem):
                        var texts = [problem.reason] + (problem.help.map { ["advice: \($0)"] } ?? [])
                        let key = texts.joined(separator: "\n")
                        if let first = explained[key] { texts = ["as \(first)"] } else { explained[key] = title }
                        return Row(name: title, word: "unavailable", texts: texts, emphasis: .warning)
                    }
                }
        )
    }

    /// What `backends: auto` chooses, and why.
    func text(ofAutomatic choices: [(kind: String, fit: AutomaticFit)]) -> String {
        let lines = choices.map { kind, fit in
            let (word, emphasis) = fit.isChosen ? ("yes", TextStyle.success) : ("no", .plain)
            return Row(name: "  \(kind)", word: word, texts: [fit.reason], emphasis: emphasis)
        }
        return "'backends: auto' here:\n" + rows(lines)
    }

    private struct Row {
        var name: String
        var word: String
        var texts: [String]
        var emphasis = TextStyle.plain
    }

    /// The texts are beside the words; on a narrow terminal, or if they have a longer word, such as a path, below them.
    private func rows(_ rows: [Row]) -> String {
        let nameWidth = rows.map { SafeText.columns(of: $0.name) }.max() ?? 0
        let headWidth = nameWidth + 2 + (rows.map(\.word.count).max() ?? 0)
        return rows.map { row in
            // The name of a file may have any character in it.
            let texts = row.texts.map { QuotedText.escaped($0) }
            let longest = texts.flatMap { $0.split(separator: " ") }.map { SafeText.columns(of: String($0)) }.max() ?? 0
            let isBelow = style.width - headWidth < max(32, longest + 2)
            let indent = "\n" + String(repeating: " ", count: isBelow ? 2 : headWidth + 2)
            let head = TextWidth.padded(row.name, to: nameWidth + 2) + row.word
            let padded = isBelow ? head : TextWidth.padded(head, to: headWidth + 2)
            let lines = texts.flatMap { TextWidth.wrapped($0, to: style.width - indent.count + 1) }
            return style.look.styled(padded, row.emphasis) + (isBelow ? indent : "") + lines.joined(separator: indent)
        }.map { $0 + "\n" }.joined()
    }
}
