import IndicatorCore

extension ActivityDetails {
    /// The completed amount, such as "12.3 MB" or "7 files"; `nil` if the activity counts no steps.
    package var doneText: String? {
        completed != 0 || total != nil ? unit.text(of: Double(completed)) : nil
    }

    /// The total amount; `nil` if it is unknown.
    package var totalText: String? { total.map { unit.text(of: Double($0)) } }

    /// The completed and total amounts, such as "12.3 of 40.0 MB"; without the total if it is unknown.
    package var amountText: String? {
        guard let total, let totalText else { return doneText }
        let scale = unit.scale(of: Double(total))
        return "\(scale.number(Double(completed))) of \(totalText)"
    }

    /// The rate, such as "3.1 MB/s" or "2.4 files/s"; `nil` while it is unknown.
    package var rateText: String? {
        rate.map { rate in
            let scale = unit.scale(of: rate)
            let digits = rate < 10 ? 1 : 0
            let number = unit == .bytes ? scale.number(rate) : ActivityUnit.Scale.rounded(rate, digits: digits)
            return "\(number)\(scale.suffix)/s"
        }
    }
}

extension ActivityUnit {
    /// The scale and suffix for numbers of a magnitude.
    fileprivate struct Scale {
        var divisor = 1.0
        /// The text after the number, including a leading space.
        var suffix: String

        func number(_ value: Double) -> String { Self.rounded(value / divisor, digits: divisor > 1 ? 1 : 0) }

        static func rounded(_ value: Double, digits: Int) -> String {
            let factor = digits == 1 ? 10.0 : 1
            let rounded = (value * factor).rounded()
            let tenths = Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
            guard digits == 1 else { return "\(tenths)" }
            return "\(tenths < 0 ? "-" : "")\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
        }
    }

    /// Bytes in powers of 1000, the SI prefixes.
    fileprivate func scale(of value: Double) -> Scale {
        guard self == .bytes else {
            return Scale(suffix: name.isEmpty ? "" : " \(DisplayText.singleLine(name, limit: 20))")
        }
        var scale = Scale(suffix: " B")
        for suffix in [" kB", " MB", " GB", " TB", " PB", " EB"] where value.magnitude >= scale.divisor * 1000 {
            scale = Scale(divisor: scale.divisor * 1000, suffix: suffix)
        }
        return scale
    }

    fileprivate func text(of value: Double) -> String {
        let scale = scale(of: value)
        return scale.number(value) + scale.suffix
    }
}
