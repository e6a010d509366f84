import Foundation
import IndicatorBackends
import IndicatorCore
import Logging

/// What the demo runs with: the configuration, and the surfaces that it names.
struct DemoSetup: Sendable {
    /// The name under which the demo's config file and log file are found.
    static let applicationName = "indicator-demo"

    /// What the command line says.
    struct Options: Sendable {
        var config: String?
        var backends: [String] = []
        var delays: DelayOverrides
    }

    let configuration: IndicatorConfiguration
    /// The surfaces that are used and, when the demo chose them itself, those that cannot be.
    let backends: [DemoBackend]

    /// Whether nobody said which surfaces to use, so that the demo uses every built-in one that can run here.
    let usesEverySurface: Bool

    private let overrides: ConfigurationValues
    private let defaults: ConfigurationValues
    private let path: String?

    /// Loads the configuration. If there is no file, every built-in surface that can run here is used.
    ///
    /// - Throws: ``ConfigurationError`` with every mistake.
    init(_ options: Options) async throws {
        path = options.config
        var overrides = ConfigurationValues(
            startDelay: options.delays.startDelay,
            completionDelay: options.delays.completionDelay,
            // The requests of the demo are announced in this way, whatever else the file has observed.
            observe: [TaskNotifications.indicator.name]
        )
        if !options.backends.isEmpty { overrides.backends = options.backends }
        var defaults = ConfigurationValues()
        var loaded = try Self.load(path: path, overrides: overrides, defaults: defaults)
        let isChosen = loaded.effectiveSettings.contains { setting in
            setting.backend == nil && setting.name == "backends" && setting.source != .default
        }
        var backends: [DemoBackend] = []
        usesEverySurface = loaded.file == nil && !isChosen
        if usesEverySurface {
            backends = await DemoBackend.builtIn(applicationName: Self.applicationName)
            defaults.backends = backends.filter(\.isAvailable).map(\.name)
            loaded = try Self.load(path: path, overrides: overrides, defaults: defaults)
        } else {
            for backend in loaded.backends {
                backends.append(
                    await DemoBackend(
                        backend.kind,
                        named: backend.name,
                        backend.settings,
                        applicationName: Self.applicationName
                    )
                )
            }
        }
        configuration = loaded
        self.backends = backends
        self.overrides = overrides
        self.defaults = defaults
    }

    /// Makes the indicator, which follows its config file from now on.
    func makeIndicator() -> IndicatorManager {
        IndicatorManager.configured(
            for: Self.applicationName,
            path: path,
            overrides: overrides,
            defaults: defaults,
            logger: Logger(label: "indicator", factory: { _ in SwiftLogNoOpLogHandler() })
        )
    }

    private static func load(
        path: String?,
        overrides: ConfigurationValues,
        defaults: ConfigurationValues
    ) throws(ConfigurationError) -> IndicatorConfiguration {
        try IndicatorConfiguration.load(
            applicationName: applicationName,
            path: path,
            overrides: overrides,
            defaults: defaults
        )
    }
}
