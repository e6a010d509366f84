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
    var backends: [DemoBackend]

    /// Whether nobody said which surfaces to use, so that the demo uses every built-in one that can run here.
    let usesEverySurface: Bool

    private let overrides: ConfigurationValues
    private let defaults: ConfigurationValues
    private let path: String?

    /// Loads the configuration. If there is no file, every built-in surface that can run here is used.
    ///
    /// - Parameters:
    ///   - options: what the command line says.
    ///   - includingUnused: whether ``backends`` has the kinds, too, that the configuration does not use.
    /// - Throws: ``ConfigurationError`` with every mistake.
    init(_ options: Options, includingUnused: Bool = false) async throws {
        path = options.config
        var overrides = ConfigurationValues(
            startDelay: options.delays.startDelay,
            completionDelay: options.delays.completionDelay,
            // The requests of the demo are announced in this way, whatever else the file has observed.
            observe: [TaskNotifications.indicator.name]
        )
        if !options.backends.isEmpty { overrides.backends = options.backends }
        var defaults = ConfigurationValues()
        let registry = BackendRegistry.standard
        let kinds = registry.kinds.map(\.name)
        func load() throws(ConfigurationError) -> IndicatorConfiguration {
            try Self.load(path: options.config, overrides: overrides, defaults: defaults)
        }
        var loaded = try load()
        let isChosen = loaded.effectiveSettings.contains { setting in
            setting.backend == nil && setting.name == "backends" && setting.source != .default
        }
        usesEverySurface = loaded.file == nil && !isChosen
        if usesEverySurface {
            // It would draw over what the demo prints of a run.
            defaults.backends = kinds.filter { $0 != BackendKind.terminalProgress.name }
            loaded = try load()
        }
        var backends = await DemoBackend.all(of: loaded)
        if usesEverySurface {
            defaults.backends = backends.filter(\.isAvailable).map(\.name)
            loaded = try load()
        } else if includingUnused {
            // With the settings that a section which is not listed gives them.
            var others = overrides
            others.backends = kinds.filter { kind in !loaded.backends.contains { $0.name == kind } }
            if let unused = try? Self.load(path: options.config, overrides: others, defaults: defaults) {
                backends += await DemoBackend.all(of: unused).map { backend in
                    var backend = backend
                    backend.isUsed = false
                    return backend
                }
            }
        }
        if usesEverySurface || includingUnused { backends += DemoBackend.missing(in: registry) }
        configuration = loaded
        self.backends = backends
        self.overrides = overrides
        self.defaults = defaults
    }

    /// The backends with what has become of them, as soon as none is starting any more, or after a moment.
    func backends(of indicator: IndicatorManager) async -> [DemoBackend] {
        let end = ContinuousClock.now + .seconds(1)
        while indicator.backendStatuses.contains(where: { $0.state == .starting }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
        let statuses = indicator.backendStatuses
        return backends.map { backend in backend.updated(by: statuses.first { $0.name == backend.name }) }
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
