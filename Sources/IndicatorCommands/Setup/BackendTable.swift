package import IndicatorBackends

/// The output of `backends`.
package struct BackendTable {
    package let backends: [ProgramBackend]
    package let style: TerminalStyle

    /// The table, with a line break after each row.
    package var text: String {
        let nameWidth = (["NAME"] + backends.map(title)).map { SafeText.columns(of: $0) }.max() ?? 0
        let stateWidth = 11
        // On a narrow terminal, the text is below the name.
        let indentation = style.width - nameWidth - stateWidth - 4 >= 30 ? nameWidth + stateWidth + 4 : 2
        var text = row("NAME", "STATE", nameWidth)
        if indentation > 2 { text += String(repeating: " ", count: stateWidth - 5) + "  WHERE, OR WHY NOT" }
        text += "\n"
        for backend in backends {
            let (state, emphasis) = state(of: backend)
            let padding = indentation > 2 ? String(repeating: " ", count: stateWidth - state.count) : ""
            let first = row(title(backend), state + padding, nameWidth)
            let lines = lines(of: backend, width: style.width - indentation)
            let indent = String(repeating: " ", count: indentation)
            let head = emphasis.map { style.styled(first, $0) } ?? first
            if indentation > 2, let line = lines.first {
                text += "\(head)  \(line)\n"
                text += lines.dropFirst().map { "\(indent)\($0)\n" }.joined()
            } else {
                text += "\(head)\n" + lines.map { "\(indent)\($0)\n" }.joined()
            }
        }
        return text
    }

    /// What `backends: auto` chooses, and why, one kind a line.
    package func text(of automatic: AutomaticBackends) -> String {
        var text = "\n'backends: auto' here:\n"
        let nameWidth = automatic.choices.map { SafeText.columns(of: $0.kind) }.max() ?? 0
        for choice in automatic.choices {
            let head = "  " + row(choice.kind, choice.isChosen ? "yes" : "no ", nameWidth)
            let isNarrow = style.width - head.count - 2 < 30
            let width = isNarrow ? style.width - 4 : style.width - head.count - 2
            let lines = TextWidth.wrapped(choice.reason, to: width, splitsWords: style.isTerminal)
            let indent = String(repeating: " ", count: isNarrow ? 4 : head.count + 2)
            let styled = choice.isChosen ? style.styled(head, .green) : head
            text += isNarrow ? "\(styled)\n\(indent)" : "\(styled)  "
            text += lines.joined(separator: "\n\(indent)") + "\n"
        }
        return text
    }

    private func title(_ backend: ProgramBackend) -> String {
        backend.name == backend.kind ? backend.name : "\(backend.name) (\(backend.kind))"
    }

    private func row(_ name: String, _ state: String, _ width: Int) -> String {
        name + String(repeating: " ", count: width + 2 - SafeText.columns(of: name)) + state
    }

    private func state(of backend: ProgramBackend) -> (String, TerminalStyle.Emphasis?) {
        guard backend.isAvailable else { return ("unavailable", .yellow) }
        return backend.isUsed ? ("available", .green) : ("not used", nil)
    }

    private func lines(of backend: ProgramBackend, width: Int) -> [String] {
        guard case .success(let detail) = backend.availability else {
            return backend.problemLines(width: width, style: style)
        }
        // The name of a file may have any character in it.
        return TextWidth.wrapped(
            SafeText.escaped(detail ?? backend.summary),
            to: width,
            splitsWords: style.isTerminal
        )
    }
}
