import Foundation

/// The figures as a JSON array of objects.
///
/// `ours_ns`, `reference_ns` and `ratio` are for times, `value` and `unit` for counts; `left_out` is the reason if
/// neither was measured. Other values that a row does not have are `null`. `goal` is the maximum of `ratio` or `value`.
enum FigureJSON {
    static func text(_ figures: [Figure]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes]
        let rows = try figures.map { figure in
            let fields = try Self.fields(figure).map { name, value in
                let text = try value.map { String(decoding: try encoder.encode($0), as: UTF8.self) } ?? "null"
                return "\"\(name)\": \(text)"
            }
            return "  {\(fields.joined(separator: ", "))}"
        }
        return "[\n\(rows.joined(separator: ",\n"))\n]"
    }

    private static func fields(_ figure: Figure) -> [(String, (any Encodable)?)] {
        var ours: Double?
        var reference: Double?
        var value: Double?
        var unit: String?
        var reason: String?
        switch figure.outcome {
        case .time(let time, let other): (ours, reference) = (time, other)
        case .count(let number, let counted): (value, unit) = (number, counted)
        case .leftOut(let text): reason = text
        }
        var fields: [(String, (any Encodable)?)] = [
            ("name", figure.name), ("ours_ns", ours.map(rounded)), ("reference_ns", reference.map(rounded)),
            ("ratio", figure.ratio.map(rounded)), ("goal", figure.goal), ("met", figure.isMet),
        ]
        if value != nil { fields += [("value", value.map(rounded)), ("unit", unit)] }
        if reason != nil { fields += [("left_out", reason)] }
        if let detail = figure.detail { fields += [("detail", detail)] }
        return fields
    }

    private static func rounded(_ value: Double) -> Double {
        (value * 1000).rounded() / 1000
    }
}
