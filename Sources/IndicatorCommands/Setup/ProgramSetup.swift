import Foundation
package import IndicatorBackends
package import IndicatorCore
import Logging

/// What a program runs with: the configuration, and the surfaces that it names.
package struct ProgramSetup: Sendable {
    /// What the command line says.
    package struct Options: Sendable {
        var config: String?
        var backends: [String] = []
        var delays: DelayOverrides
        var observe: [String]?

        /// Makes options; what is `nil` or empty was not given.
        ///
        /// - Parameter observe: the notifications that are observed, whatever the file says.
        package init(
            config: String? = nil,
            backends: [String] = [],
            delays: DelayOverrides,
            observe: [String]? = nil
        ) {
            self.config = config
            self.backends = backends
            self.delays = delays
            self.observe = observe
        }
    }

    package let configuration: IndicatorConfiguration
    /// The surfaces that are used and, when the program chose them itself, those that cannot be.
    package var backends: [ProgramBackend]

    /// Whether nobody said which surfaces to use, so that the program uses every built-in one that can run here.
    package let usesEverySurface: Bool

    private let overrides: ConfigurationValues
    private let defaults: ConfigurationValues
    private let path: String?

    /// Loads the configuration. If there is no file, every built-in surface that can run here is used.
    ///
    /// - Parameters:
    ///   - options: what the command line says.
    ///   - includingUnused: whether ``backends`` has the kinds, too, that the configuration does not use.
    /// - Throws: ``ConfigurationError`` with every mistake.
    package init(_ options: Options, includingUnused: Bool = false) async throws {
        path = options.config
        var overrides = ConfigurationValues(
            startDelay: options.delays.startDelay,
            completionDelay: options.delays.completionDelay,
            observe: options.observe
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
            setting.backend == nil && setting.name == "backends" && setting.location != nil
        }
        usesEverySurface = loaded.file == nil && !isChosen
        if usesEverySurface {
            // It would draw over what the demo prints of a run.
            defaults.backends = kinds.filter { $0 != BackendKind.terminalProgress.name }
            loaded = try load()
        }
        var backends = await ProgramBackend.all(of: loaded)
        if usesEverySurface {
            defaults.backends = backends.filter(\.isAvailable).map(\.name)
            loaded = try load()
        } else if includingUnused {
            // With the settings that a section which is not listed gives them.
            var others = overrides
            others.backends = kinds.filter { kind in !loaded.backends.contains { $0.name == kind } }
            if let unused = try? Self.load(path: options.config, overrides: others, defaults: defaults) {
                backends += await ProgramBackend.all(of: unused).map { backend in
                    var backend = backend
                    backend.isUsed = false
                    return backend
                }
            }
        }
        if usesEverySurface || includingUnused { backends += ProgramBackend.missing(in: registry) }
        configuration = loaded
        self.backends = backends
        self.overrides = overrides
        self.defaults = defaults
    }

    /// The backends with what has become of them, as soon as none is starting any more, or after a moment.
    package func backends(of indicator: IndicatorManager) async -> [ProgramBackend] {
        let end = ContinuousClock.now + .seconds(1)
        while indicator.backendStatuses.contains(where: { $0.state == .starting }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
        let statuses = indicator.backendStatuses
        return backends.map { backend in backend.updated(by: statuses.first { $0.name == backend.name }) }
    }

    /// Makes the indicator, which follows its config file from now on.
    package func makeIndicator() -> IndicatorManager {
        IndicatorManager.configured(
            for: Program.name,
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
            applicationName: Program.name,
            path: path,
            overrides: overrides,
            defaults: defaults
        )
    }
}
