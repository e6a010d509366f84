package import BackendConfiguration

extension BackendKind {
    /// The kind with settings of code, checked as those of a file.
    package func with(_ values: [String: SettingValue] = [:]) throws(ConfigurationError) -> Configured {
        var source = ConfigurationSource(for: "my-app", environment: [:], registry: BackendRegistry(kinds: [self]))
        source.overrides = ["backends": .list([name])]
        for (setting, value) in values { source.overrides["\(name).\(setting)"] = value }
        return try IndicatorConfiguration.load(from: source).backends[0].configured
    }
}
