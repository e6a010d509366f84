import DisplayText

extension BackendRegistry {
    /// Every setting with its summary, its default and an example, as an annotated config file in YAML.
    ///
    /// It is a valid config file that is equivalent to the defaults. Settings that are not used by default begin with a
    /// `#` without a space; without that character they are valid too.
    package var settingsReference: String {
        var lines = [
            "# Every setting of an indicator's config file. The values are the defaults. A line that begins with '#'",
            "# and has no space after it is an example: remove the '#' to use it.",
            "",
        ]
        let defaults = ConfigurationValues.standard(in: self)
        for setting in ConfigurationValues.settings {
            lines += setting.definition(defaults: defaults).referenceLines(indentation: "", isUsed: true)
        }
        for kind in kinds {
            let isUsed = defaults.backends?.contains(kind.name) == true
            lines += ["", "# \(kind.name): \(kind.summary)", "\(isUsed ? "" : "#")\(kind.name):"]
            for setting in kind.settings { lines += setting.referenceLines(indentation: "  ", isUsed: isUsed) }
        }
        lines += [
            "",
            "# A section with any other name is another backend of its 'kind', with the settings of that kind.",
            "#audit:",
            "#  kind: \((kind(named: "logFile") ?? kinds.last)?.name ?? "")",
        ]
        return lines.map { "\($0)\n" }.joined()
    }

    /// A comment, wrapped at 100 columns.
    fileprivate static func comment(_ text: String, indentation: String) -> [String] {
        let text = text.prefix(1).uppercased() + text.dropFirst()
        var lines: [String] = []
        var line = "\(indentation)#"
        for word in "\(text).".split(separator: " ") {
            if line.count + 1 + word.count > 100 {
                lines.append(line)
                line = "\(indentation)#"
            }
            line += " \(word)"
        }
        return lines + [line]
    }
}

extension SettingDefinition {
    fileprivate func referenceLines(indentation: String, isUsed: Bool) -> [String] {
        var text = "\(summary). Value: \(expectation)"
        if isRequired { text += "; must be given" } else if defaultValue == nil { text += "; no default" }
        if defaultValue != nil, let example, example != defaultValue { text += ", such as \(example.yamlText)" }
        let mark = isUsed && defaultValue != nil ? "" : "#"
        let value = (defaultValue ?? example)?.yamlText ?? ""
        return BackendRegistry.comment(text, indentation: indentation) + ["\(mark)\(indentation)\(name): \(value)"]
    }
}

extension BackendSettingValue {
    /// The value as YAML.
    fileprivate var yamlText: String {
        if case .list(let items) = self { return "[\(items.map { Self.string($0).yamlText }.joined(separator: ", "))]" }
        guard case .string(let text) = self else { return configurationText }
        let isPlain =
            text.first?.isNumber == false && text.allSatisfy { $0.isLetter || $0.isNumber || "./-~".contains($0) }
        return isPlain ? text : "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
