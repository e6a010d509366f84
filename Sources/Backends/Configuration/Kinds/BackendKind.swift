public import Foundation
public import IndicatorCore
public import Logging

/// A kind of backend that a config file can select by name: its settings, and how a backend is made from them.
///
/// `BackendRegistry.standard` has the built-in kinds; an app can register more:
///
/// ```swift
/// registry.register(
///     BackendKind(name: "led", summary: "an LED of the machine", settings: LEDSettings.init) { context, settings in
///         LEDBackend(name: context.name, path: settings.path)
///     }
/// )
/// ```
public struct BackendKind: Sendable {
    /// A kind with settings: what the closures of the kind do with them.
    package struct Configured: Sendable {
        package let make: @Sendable (BackendContext) throws -> any IndicatorBackend
        package let isApplicable: @Sendable (BackendContext) -> Bool
        package let availability: @Sendable (BackendContext) async -> Result<String?, Unavailability>
        /// Whether `backends: auto` chooses it; `nil` if it never does.
        package let fit: (@Sendable (BackendContext) -> AutomaticFit)?
    }

    /// The name that selects the kind, such as `logFile`.
    public let name: String
    /// What the surface is, in a few words, for tables and help texts.
    public let summary: String
    /// Reads the settings of a section.
    package let configured: @Sendable (inout SettingsReader) -> Configured

    /// Makes a kind with settings.
    ///
    /// - Parameters:
    ///   - name: the name that selects the kind.
    ///   - summary: what the surface is, in a few words.
    ///   - settings: reads the settings of a section, in the order of the reference; see ``SettingsReader``. `{ _ in }`
    ///     if there are none.
    ///   - make: makes a backend. Must not touch the surface: the backend's function does that. Throws if the
    ///     settings are inconsistent in a way that none of them alone is.
    ///   - isApplicable: whether there is a surface here, such as a terminal, or may be one while the app runs; by
    ///     default `true`. A backend without is skipped without a warning, because the same configuration is used in
    ///     many places. Must not block.
    ///   - availability: returns where it could show something, such as `/dev/pts/3`, if that is of interest, or throws
    ///     why it could not, such as an ``Unavailability`` with advice. Checks that without side effects. By default,
    ///     it could.
    ///   - automatic: whether `backends: auto` chooses the kind where the app runs; by default it never does. The app
    ///     waits for it when it starts.
    public init<Settings: Sendable>(
        name: String,
        summary: String,
        settings: @escaping @Sendable (inout SettingsReader) -> Settings,
        make: @escaping @Sendable (BackendContext, Settings) throws -> any IndicatorBackend,
        isApplicable: @escaping @Sendable (BackendContext, Settings) -> Bool = { _, _ in true },
        availability: @escaping @Sendable (BackendContext, Settings) async throws -> String? = { _, _ in nil },
        automatic: (@Sendable (BackendContext, Settings) -> AutomaticFit)? = nil
    ) {
        (self.name, self.summary) = (name, summary)
        configured = { reader in
            let settings = settings(&reader)
            return Configured(
                make: { try make($0, settings) },
                isApplicable: { isApplicable($0, settings) },
                availability: { context in
                    do { return .success(try await availability(context, settings)) } catch {
                        let problem = error as? any BackendProblem
                        return .failure(Unavailability(reason: problem?.reason ?? "\(error)", help: problem?.help))
                    }
                },
                fit: automatic.map { automatic in { @Sendable in automatic($0, settings) } }
            )
        }
    }

    /// The settings that a section of this kind may have. Made anew, so that an app does not keep those of all kinds.
    package var settings: [Setting] {
        var reader = SettingsReader(section: name)
        _ = configured(&reader)
        return reader.settings
    }
}

/// The context in which a backend is made.
public struct BackendContext: Sendable {
    /// The name of the backend: its section in the config file.
    public var name: String
    /// The name of the app.
    public var applicationName: String
    /// Where the backend's own diagnostics go.
    public var logger: Logger
    /// Whether the user has set `accessible`, for screen readers: the backend must not animate anything.
    public var isAccessible: Bool
    /// The environment variables of the configuration.
    public var environment: [String: String]
    /// Whether a configuration names the backend; otherwise it is a default one.
    public var isNamed = true

    /// Makes a context, for the tests of a kind.
    public init(
        name: String,
        applicationName: String,
        logger: Logger,
        isAccessible: Bool = false,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        (self.name, self.applicationName, self.environment) = (name, applicationName, environment)
        (self.logger, self.isAccessible) = (logger, isAccessible)
    }
}

/// Whether `backends: auto` chooses a kind, and why.
///
/// `auto` stands for one backend for each place where the user may look (the terminal, the desktop, the service
/// manager), so that no two show the same, and the object on the bus, which panels read.
public struct AutomaticFit: Sendable, Hashable {
    /// Whether it is chosen.
    public var isChosen: Bool
    /// Why, or why not.
    public var reason: String
    /// The kinds that are not chosen if this one is, and why not.
    public var replaced: [String: String]

    /// Makes a decision.
    public init(_ isChosen: Bool, _ reason: String, replaced: [String: String] = [:]) {
        (self.isChosen, self.reason, self.replaced) = (isChosen, reason, replaced)
    }

    /// What it is called in a config file.
    package static let name = "auto"
}
