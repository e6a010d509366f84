public import BackendConfiguration
public import Foundation
public import IndicatorCore
public import Logging

extension ConfigurationSource {
    /// Makes a source; by default, everything is usual.
    public init(
        for applicationName: String,
        path: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) {
        self.init(for: applicationName, environment: environment, registry: registry)
        (self.path, self.overrides, self.defaults) = (path, overrides, defaults)
        (self.reloadTriggers, self.printsMistakes, self.logger) = (reloadTriggers, printsMistakes, logger)
    }
}

// MARK: - Renamed

extension ConfigurationSource {
    /// Removed.
    @available(*, unavailable, message: "an indicator's settings are in a file of their own; give its path")
    public init(
        for applicationName: String,
        path: String? = nil,
        section: String?,
        environment: [String: String] = [:],
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) {
        self.init(for: applicationName)
    }
}

extension IndicatorManager {
    /// Renamed.
    @available(*, unavailable, renamed: "configured(from:)", message: "pass these in a ConfigurationSource")
    public static func configured(
        for applicationName: String,
        path: String? = nil,
        section: String? = nil,
        asShared: Bool = false,
        environment: [String: String] = [:],
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues(),
        reloadTriggers: ConfigurationReloadTriggers = .all,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) -> IndicatorManager {
        configured(from: ConfigurationSource(for: applicationName))
    }
}

extension IndicatorConfiguration {
    /// Renamed.
    @available(*, unavailable, renamed: "load(from:)", message: "pass these in a ConfigurationSource")
    public static func load(
        applicationName: String,
        path: String? = nil,
        section: String? = nil,
        environment: [String: String] = [:],
        registry: BackendRegistry = .standard,
        overrides: ConfigurationValues = ConfigurationValues(),
        defaults: ConfigurationValues = ConfigurationValues()
    ) throws(ConfigurationError) -> Self {
        try load(from: ConfigurationSource(for: applicationName))
    }
}
