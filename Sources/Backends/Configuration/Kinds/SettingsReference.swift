import IndicatorCore

extension BackendRegistry {
    /// Every setting of the kinds, with its summary, its default and an example, as an annotated config file in YAML.
    ///
    /// It is a valid config file that is equivalent to the defaults. Settings that are not used by default begin with a
    /// `#` without a space; without that character they are valid too.
    public var settingsReference: String {
        var lines = [
            "# Every setting of an indicator's config file. The values are the defaults. A '#' without a space after",
            "# it marks an example: remove the '#' to use it.",
            "",
        ]
        let settings = IndicatorConfiguration.topLevel(in: self)
        lines += settings.flatMap { $0.referenceLines(isUsed: true) }
        let used = settings.last?.standard?.list ?? []
        for kind in kinds {
            let isUsed = used.contains(kind.name)
            lines += ["", "# \(kind.name): \(kind.summary)", "\(isUsed ? "" : "#")\(kind.name):"]
            lines += kind.settings.flatMap { $0.referenceLines(indentation: "  ", isUsed: isUsed) }
        }
        lines += [
            "",
            "# A section with any other name is another backend of its 'kind', with the settings of that kind.",
            "#audit:",
            "  #kind: \((kind(named: "logFile") ?? kinds.last)?.name ?? "")",
        ]
        return lines.map { "\($0)\n" }.joined()
    }
}

extension Setting {
    fileprivate func referenceLines(indentation: String = "", isUsed: Bool) -> [String] {
        var text = "\(summary.prefix(1).uppercased())\(summary.dropFirst()). Value: \(expectation)"
        if isRequired { text += "; must be given" } else if standard == nil { text += "; no default" }
        if standard != nil, let example, example != standard {
            text += ", such as \(example.configurationText)"
        }
        let comment = TextWidth.wrapped("\(text).", to: 98 - indentation.count).map { "\(indentation)# \($0)" }
        let mark = isUsed && standard != nil ? "" : "#"
        return comment + ["\(indentation)\(mark)\(name): \((standard ?? example)?.configurationText ?? "")"]
    }
}
