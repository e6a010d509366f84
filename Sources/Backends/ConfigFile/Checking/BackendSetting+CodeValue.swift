import IndicatorCore

extension BackendSetting {
    /// Checks a value that was given in code as strictly as one that was given as a text.
    func checked(
        _ value: BackendSettingValue,
        environment: [String: String]
    ) throws(SettingText.Failure) -> BackendSettingValue {
        let text: String
        switch (type, value) {
        case (.string, .string(let value)), (.path, .string(let value)), (.choice, .string(let value)): text = value
        case (.boolean, .boolean(let value)): text = String(value)
        case (.integer, .integer(let value)), (.size, .integer(let value)): text = String(value)
        case (.seconds, .duration(let value)):
            // A text would be rounded first, and then a tiny negative time would be none.
            guard value >= .zero else { fallthrough }
            text = value.secondsText
        default:
            throw SettingText.Failure(message: "expected \(type.expectation), found \(value.configurationText)")
        }
        return try SettingText(text: text, origin: .file(isQuoted: false), environment: environment).value(for: self)
    }
}
