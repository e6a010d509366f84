package import IndicatorBackends

/// The settings in effect: the output of `check-config`.
package struct SettingsTable {
    package let configuration: IndicatorConfiguration

    /// One line per setting: name, value and source.
    package var text: String {
        let rows = configuration.effectiveSettings.map { ($0.key, $0.value ?? "-", "\($0.source)") }
        let keyWidth = rows.map { TextWidth.columns(of: $0.0) }.max() ?? 0
        let valueWidth = min(rows.map { TextWidth.columns(of: $0.1) }.max() ?? 0, 48)
        func padded(_ text: String, to width: Int) -> String {
            text + String(repeating: " ", count: max(width - TextWidth.columns(of: text), 0))
        }
        let heading = configuration.file.map { "\($0): no mistakes" } ?? "no config file found; these are the defaults"
        let lines = rows.map { "\(padded($0.0, to: keyWidth))  \(padded($0.1, to: valueWidth))  \($0.2)" }
        return ([heading, ""] + lines).map { $0 + "\n" }.joined()
    }
}
