extension BackendSettingValue {
    /// The value as a config file would spell it.
    var configurationText: String {
        switch self {
        case .string(let text): text.isEmpty ? "\"\"" : SettingText.escaped(text)
        case .boolean(let value): String(value)
        case .integer(let value): String(value)
        case .duration(let value): value.secondsText
        }
    }
}

extension Duration {
    /// A number of seconds without needless digits: `1`, `0.2`.
    var secondsText: String {
        let (seconds, attoseconds) = components
        let microseconds = attoseconds / 1_000_000_000_000
        guard microseconds != 0 else { return String(seconds) }
        var fraction = String(microseconds.magnitude)
        fraction = String(repeating: "0", count: 6 - fraction.count) + fraction
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return "\(self < .zero && seconds == 0 ? "-" : "")\(seconds).\(fraction)"
    }
}
