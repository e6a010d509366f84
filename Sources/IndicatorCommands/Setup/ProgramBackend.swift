package import IndicatorBackends
import IndicatorCore
import Logging

/// A backend, and whether it can run here.
package struct ProgramBackend: Sendable {
    /// The name of its kind or of its section in the config file.
    package var name: String
    /// The name of its kind.
    package var kind: String
    /// Whether the configuration uses it.
    var isUsed = true
    /// Where it can run here, or what it does; or why it cannot run here.
    package var availability: Result<String, Unavailability>

    /// Whether it can run here.
    package var isAvailable: Bool { reason == nil }

    /// Why it cannot run here; `nil` if it can.
    package var reason: String? {
        if case .failure(let problem) = availability { problem.reason } else { nil }
    }

    /// The backends of a configuration, with their availability. All at once: several may wait for the same bus.
    package static func all(of configuration: IndicatorConfiguration) async -> [ProgramBackend] {
        await withTaskGroup { group in
            for (index, backend) in configuration.backends.enumerated() {
                group.addTask { (index, await ProgramBackend(backend)) }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// The kinds that are not in this build.
    static func missing(in registry: BackendRegistry) -> [ProgramBackend] {
        registry.reasonsForMissing.sorted { $0.key < $1.key }.map { name, reason in
            let parts = reason.split(separator: "; ", maxSplits: 1).map(String.init)
            return ProgramBackend(unused: name, parts[0], help: parts.count > 1 ? parts[1] : nil)
        }
    }

    /// A kind that the configuration does not use and that cannot run.
    init(unused kind: String, _ reason: String, help: String?) {
        (name, self.kind, isUsed) = (kind, kind, false)
        availability = .failure(Unavailability(reason: reason, help: help))
    }

    private init(_ backend: IndicatorConfiguration.Backend) async {
        var context = backend.context
        context.logger = Logger(label: Program.name, factory: { _ in SwiftLogNoOpLogHandler() })
        (name, kind) = (backend.name, backend.kind.name)
        availability = await backend.kind.availability(context, backend.settings).map { $0 ?? backend.kind.summary }
    }
}

/// The output of `backends`.
package struct BackendTable {
    private let style: TerminalStyle

    package init(style: TerminalStyle) { self.style = style }

    /// The backends, and where each can run or why not.
    package func text(of backends: [ProgramBackend]) -> String {
        // Several may need the same bus.
        var explained: [String: String] = [:]
        return rows(
            [Row(name: "NAME", word: "STATE", texts: ["WHERE, OR WHY NOT"])]
                + backends.map { backend in
                    let title = backend.name == backend.kind ? backend.name : "\(backend.name) (\(backend.kind))"
                    switch backend.availability {
                    case .success(let text) where backend.isUsed:
                        return Row(name: title, word: "available", texts: [text], emphasis: .green)
                    case .success(let text):
                        return Row(name: title, word: "not used", texts: [text])
                    case .failure(let problem):
                        var texts = [problem.reason] + (problem.help.map { ["advice: \($0)"] } ?? [])
                        let key = texts.joined(separator: "\n")
                        if let first = explained[key] { texts = ["as \(first)"] } else { explained[key] = title }
                        return Row(name: title, word: "unavailable", texts: texts, emphasis: .yellow)
                    }
                }
        )
    }

    /// What `backends: auto` chooses, and why.
    func text(of automatic: AutomaticBackends) -> String {
        "'backends: auto' here:\n"
            + rows(
                automatic.choices.map { kind, isChosen, reason in
                    let word = isChosen ? "yes" : "no"
                    return Row(name: "  \(kind)", word: word, texts: [reason], emphasis: isChosen ? .green : nil)
                }
            )
    }

    private struct Row {
        var name: String
        var word: String
        var texts: [String]
        var emphasis: TerminalStyle.Emphasis?
    }

    /// The texts are beside the words; on a narrow terminal, or if they have a longer word, such as a path, below them.
    private func rows(_ rows: [Row]) -> String {
        let nameWidth = rows.map { SafeText.columns(of: $0.name) }.max() ?? 0
        let headWidth = nameWidth + 2 + (rows.map(\.word.count).max() ?? 0)
        return rows.map { row in
            // The name of a file may have any character in it.
            let texts = row.texts.map { SafeText.escaped($0) }
            let longest = texts.flatMap { $0.split(separator: " ") }.map { SafeText.columns(of: String($0)) }.max() ?? 0
            let isBelow = style.width - headWidth < max(32, longest + 2)
            let indent = "\n" + String(repeating: " ", count: isBelow ? 2 : headWidth + 2)
            let head = TextWidth.padded(row.name, to: nameWidth + 2) + row.word
            let padded = isBelow ? head : TextWidth.padded(head, to: headWidth + 2)
            let lines = texts.flatMap { TextWidth.wrapped($0, to: style.width - indent.count + 1) }
            let styled = row.emphasis.map { style.styled(padded, $0) } ?? padded
            return styled + (isBelow ? indent : "") + lines.joined(separator: indent) + "\n"
        }.joined()
    }
}
