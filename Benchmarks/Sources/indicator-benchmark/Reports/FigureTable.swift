/// The figures as a table.
struct FigureTable {
    private static let heading = ["what", "ours", "peer or limit", "ratio", "goal", "met"]

    private let rows: [[String]]
    private let notes: [String]

    init(_ figures: [Figure]) {
        rows = figures.map(Self.row)
        notes = figures.compactMap { figure in
            if case .leftOut(let reason) = figure.outcome { return "\(figure.name) was left out: \(reason)" }
            return figure.detail.map { "\(figure.name): \($0)" }
        }
    }

    private static func row(_ figure: Figure) -> [String] {
        let (ours, theirs) = columns(figure)
        let goal = figure.goal.map { ($0 == 0 ? "0" : "≤ \(Decimals.short($0))") + (figure.ratio == nil ? "" : " ×") }
        return [
            figure.title,
            ours,
            theirs,
            figure.ratio.map { "\(Decimals.ratio($0)) ×" } ?? "",
            goal ?? "",
            figure.isMet.map { $0 ? "yes" : "no" } ?? "",
        ]
    }

    private static func columns(_ figure: Figure) -> (ours: String, theirs: String) {
        switch figure.outcome {
        case .time(let ours, let reference):
            let time = reference.map(Decimals.time)
            return (Decimals.time(nanoseconds: ours), [time, figure.peer].compactMap(\.self).joined(separator: ", "))
        case .count(let value, let unit):
            return ("\(Decimals.count(value)) \(unit)", figure.peer ?? "")
        case .leftOut:
            return ("left out", "")
        }
    }

    /// For a terminal: columns, followed by notes about rows.
    var text: String {
        let all = [Self.heading] + rows
        let widths = Self.heading.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        let lines = all.map { row in
            zip(row, widths)
                .map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
                .joined(separator: "  ")
                .trimmingTrailingSpaces
        }
        let rule = String(repeating: "-", count: widths.reduce(0, +) + 2 * (widths.count - 1))
        return ([lines[0], rule] + lines.dropFirst() + (notes.isEmpty ? [] : [""] + notes)).joined(separator: "\n")
    }

    /// For the documentation.
    var markdown: String {
        let lines = ([Self.heading, Self.heading.map { _ in "---" }] + rows).map {
            "| \($0.joined(separator: " | ")) |"
        }
        return lines.joined(separator: "\n")
    }
}

extension String {
    fileprivate var trimmingTrailingSpaces: String {
        guard let end = lastIndex(where: { $0 != " " }) else { return "" }
        return String(self[...end])
    }
}
