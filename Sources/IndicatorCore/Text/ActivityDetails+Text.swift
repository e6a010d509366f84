extension ActivityDetails {
    /// The completed amount, such as "12.3 MB" or "7 files"; `nil` if the activity counts no steps.
    package func doneText(in style: NumberStyle = .current) -> String? {
        completed != 0 || total != nil ? unit.text(of: Double(completed), in: style) : nil
    }

    /// The total amount; `nil` if it is unknown.
    package func totalText(in style: NumberStyle = .current) -> String? {
        total.map { unit.text(of: Double($0), in: style) }
    }

    /// The completed and total amounts, such as "12.3 of 40.0 MB"; without the total if it is unknown.
    package func amountText(in style: NumberStyle = .current) -> String? {
        guard let total, let totalText = totalText(in: style) else { return doneText(in: style) }
        return "\(unit.scale(of: Double(total)).number(Double(completed), in: style)) of \(totalText)"
    }

    /// The rate, such as "3.1 MB/s" or "2.4 files/s", or "22 s each" for slow steps; `nil` while it is unknown.
    package func rateText(in style: NumberStyle = .current) -> String? {
        rate.map { rate in
            if unit != .bytes, rate > 0, rate < 1 {
                let seconds = 1 / rate
                let text = "\(style.text(seconds, digits: seconds < 10 ? 1 : 0)) s"
                return "\(seconds < 60 ? text : SnapshotFormat.time(seconds)) each"
            }
            let scale = unit.scale(of: rate)
            let number =
                unit == .bytes ? scale.number(rate, in: style) : style.text(rate, digits: rate < 10 ? 1 : 0)
            return "\(number)\(unit.suffix(scale))/s"
        }
    }
}

extension FinishedActivity {
    /// How long it lasted, and if something was counted, how much and at which average rate: "40.0 MB in 0:31, 1.3
    /// MB/s". What was done earlier is no part of the rate.
    package func summary(time: String, in style: NumberStyle = .current) -> String {
        guard completed > 0, duration > .zero else { return time }
        var details = ActivityDetails(unit: unit)
        let doneSince = completed - doneEarlier
        details.completed = completed
        details.rate = doneSince > 0 ? Double(doneSince) / (duration / .seconds(1)) : nil
        let amount = "\(details.doneText(in: style) ?? "") in \(time)"
        return details.rateText(in: style).map { "\(amount), \($0)" } ?? amount
    }
}

extension ActivityUnit {
    /// A power of 1000, the SI prefixes: 0 for the unit itself.
    fileprivate struct Scale {
        var power = 0
        var divisor = 1.0

        func number(_ value: Double, in style: NumberStyle) -> String {
            style.text(value / divisor, digits: power > 0 ? 1 : 0)
        }
    }

    /// The scale for numbers of a magnitude. Only bytes have prefixes.
    fileprivate func scale(of value: Double) -> Scale {
        var scale = Scale()
        guard self == .bytes else { return scale }
        while scale.power < 6, value.magnitude >= scale.divisor * 1000 {
            scale = Scale(power: scale.power + 1, divisor: scale.divisor * 1000)
        }
        return scale
    }

    /// The text after a number, including the space.
    fileprivate func suffix(_ scale: Scale) -> String {
        if self == .bytes { return scale.power == 0 ? " B" : " \(Array("kMGTPE")[scale.power - 1])B" }
        return name.isEmpty ? "" : " \(name)"
    }

    fileprivate func text(of value: Double, in style: NumberStyle) -> String {
        let scale = scale(of: value)
        return scale.number(value, in: style) + suffix(scale)
    }
}
