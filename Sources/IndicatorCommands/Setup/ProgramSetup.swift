package import ArgumentParser
import Foundation
package import IndicatorBackends
package import IndicatorCore
import Logging

/// The configuration of a program and its backends.
package struct ProgramSetup: Sendable {
    /// The options of the command line.
    package struct Options: Sendable {
        var config: String?
        var backends: [String] = []
        var delays: DelayOverrides
        var observe: [String]?

        /// Creates options. `nil` and empty values were not given.
        ///
        /// - Parameter observe: the notifications to observe, which override those of the file.
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
    /// The used backends. If ``usesDefaultBackends``, also those that cannot run here.
    package var backends: [ProgramBackend]

    /// What `backends: auto` stands for here.
    package let automatic: AutomaticBackends

    /// Whether no backends are configured: the program then uses the four of the README and what `auto` chooses, as far
    /// as they can run here.
    package let usesDefaultBackends: Bool

    private let overrides: ConfigurationValues
    private let defaults: ConfigurationValues
    private let path: String?

    /// Loads the configuration.
    ///
    /// - Parameters:
    ///   - options: the options of the command line.
    ///   - includingUnused: whether ``backends`` includes the kinds that the configuration does not use.
    /// - Throws: ``ConfigurationError`` with every mistake.
    package init(_ options: Options, includingUnused: Bool = false) async throws {
        path = options.config
        var overrides = ConfigurationValues(
            startDelay: options.delays.startDelay,
            completionDelay: options.delays.completionDelay,
            observe: options.observe
        )
        if !options.backends.isEmpty { overrides.backends = options.backends }
        // The program itself prints the outcomes.
        let bars = BackendKind.terminalProgress.name
        var defaults = ConfigurationValues(
            settings: [bars: ["finished": .string(TerminalProgressSettings.Finished.none.rawValue)]]
        )
        let registry = BackendRegistry.standard
        // Without settings, these cannot do anything.
        let hooks = [BackendKind.command.name, BackendKind.webhook.name]
        let kinds = registry.kinds.map(\.name).filter { !hooks.contains($0) }
        func load() throws(ConfigurationError) -> IndicatorConfiguration {
            try .load(from: Self.source(path: options.config, overrides: overrides, defaults: defaults))
        }
        var loaded = try load()
        let automatic = Self.source(path: options.config, overrides: overrides, defaults: defaults).automatic
        let isChosen = loaded.effectiveSettings.contains { $0.key == "backends" && $0.location != nil }
        usesDefaultBackends = loaded.file == nil && !isChosen
        if usesDefaultBackends {
            var names = Set(automatic.kinds + ["terminalTitle", "dbusProperty", "logFile"])
            if !names.contains("desktopJob") { names.insert("desktopNotification") }
            // Bars, but no plain lines, which would repeat the program's own output.
            if !Self.showsBars { names.remove(bars) }
            defaults.backends = kinds.filter(names.contains)
            loaded = try load()
        }
        var backends = await ProgramBackend.all(of: loaded)
        if usesDefaultBackends {
            defaults.backends = backends.filter(\.isAvailable).map(\.name)
            loaded = try load()
        }
        if includingUnused {
            // A section that is not listed still provides settings.
            var others = overrides
            others.backends = kinds.filter { kind in !backends.contains { $0.name == kind } }
            let source = Self.source(path: options.config, overrides: others, defaults: defaults)
            if let unused = try? IndicatorConfiguration.load(from: source) {
                backends += await ProgramBackend.all(of: unused).map { backend in
                    var backend = backend
                    backend.isUsed = false
                    return backend
                }
            }
            for kind in hooks where !backends.contains(where: { $0.name == kind }) {
                backends.append(.withoutSettings(kind))
            }
            backends += ProgramBackend.missing(in: registry)
        }
        self.automatic = automatic
        configuration = loaded
        self.backends = backends
        self.overrides = overrides
        self.defaults = defaults
    }

    /// Whether standard output and standard error are a terminal that shows bars.
    private static var showsBars: Bool {
        let environment = ProcessInfo.processInfo.environment
        return isatty(STDOUT_FILENO) == 1
            && TerminalProgressBackend.display(.init(), descriptor: STDERR_FILENO, environment: environment) == .live
    }

    /// The backends with their current status. Waits until none is starting, at most 1 s.
    package func backends(of indicator: IndicatorManager) async -> [ProgramBackend] {
        let end = ContinuousClock.now + .seconds(1)
        while indicator.backendStatuses.contains(where: { $0.state == .starting }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
        let statuses = indicator.backendStatuses
        return backends.map { backend in backend.updated(by: statuses.first { $0.name == backend.name }) }
    }

    /// Creates the indicator, which from then on reloads its config file.
    package func makeIndicator() -> IndicatorManager {
        var source = Self.source(path: path, overrides: overrides, defaults: defaults)
        source.logger = Logger(label: "indicator", factory: { _ in SwiftLogNoOpLogHandler() })
        return .configured(from: source)
    }

    private static func source(
        path: String?,
        overrides: ConfigurationValues,
        defaults: ConfigurationValues
    ) -> ConfigurationSource {
        ConfigurationSource(for: Program.name, path: path, overrides: overrides, defaults: defaults)
    }
}

extension ProgramSetup {
    /// Loads the configuration for a command. If it has mistakes, prints them and ends the command.
    package static func forCommand(_ options: Options, includingUnused: Bool = false) async throws -> ProgramSetup {
        do {
            return try await ProgramSetup(options, includingUnused: includingUnused)
        } catch let error as ConfigurationError {
            throw status(for: error.mistakes)
        }
    }

    /// Prints mistakes. Returns the exit status of the command.
    package static func status(for mistakes: [ConfigurationMistake]) -> ExitCode {
        for mistake in mistakes {
            let line =
                mistake.isInCode ? "\(Program.name): error: \(mistake.message)" : mistake.line(severity: "error")
            try? Output.error.write(line + "\n")
        }
        // These mistakes come from the command line, so they are usage errors.
        return mistakes.allSatisfy(\.isInCode) ? ExitCode.usage : ExitCode.configuration
    }
}

extension ConfigurationMistake {
    fileprivate var isInCode: Bool {
        if case .code = location { true } else { false }
    }
}
