import IndicatorBackends

/// The table of surfaces that `backends` prints.
struct BackendTable {
    let backends: [DemoBackend]
    let style: TerminalStyle

    /// The table, with a line break at the end of each row.
    var text: String {
        let names = ["KIND"] + backends.map(\.name)
        let width = names.map(\.count).max() ?? 0
        func row(_ name: String, _ state: String, _ text: String, _ emphasis: TerminalStyle.Emphasis? = nil) -> String {
            let first = name + String(repeating: " ", count: width + 2 - name.count)
            let second = state + String(repeating: " ", count: max(13 - state.count, 0))
            return first + (emphasis.map { style.styled(second, $0) } ?? second) + text + "\n"
        }
        var text = row("KIND", "STATE", "WHERE, OR WHY NOT")
        for backend in backends {
            switch backend.availability {
            case .available(let detail):
                text += row(backend.name, "available", detail ?? backend.summary, .green)
            case .unavailable(let reason, let help):
                let room = style.width - width - 2 - 13
                let first = TextWidth.wrapped(reason, to: room)
                text += row(backend.name, "unavailable", first[0], .yellow)
                for line in first.dropFirst() + (help.map { TextWidth.wrapped($0, to: room) } ?? []) {
                    text += row("", "", line)
                }
            }
        }
        return text
    }
}
