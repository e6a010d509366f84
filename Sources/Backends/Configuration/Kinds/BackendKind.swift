public import IndicatorCore
public import Logging

/// A kind of backend that a config file can select by name: its settings, and how a backend is made from them.
///
/// `BackendRegistry.standard` has the built-in kinds; an app can register more.
public struct BackendKind: Sendable {
    /// The name that selects the kind, such as `logFile`.
    public package(set) var name: String
    /// What the surface is, in a few words, for tables and help texts.
    package var summary: String
    /// The settings that a section of this kind may have.
    public package(set) var settings: [BackendSetting]
    /// Makes a backend. Must not touch the surface: the backend's `start()` does that.
    ///
    /// Throws if the settings are inconsistent in a way that their definitions cannot express.
    public package(set) var make: @Sendable (BackendContext, BackendSettings) throws -> any IndicatorBackend
    /// Whether a backend with these settings has a surface here, such as a terminal. One without is skipped, without a
    /// warning, until the configuration is read again. Must not block.
    package var isApplicable: @Sendable (BackendContext, BackendSettings) -> Bool
    /// Whether a backend with these settings could show anything here, checked without side effects.
    package var availability: @Sendable (BackendContext, BackendSettings) async -> BackendAvailability
    /// Whether `backends: auto` chooses it; `nil` if it never does. Must not block.
    package var fit: (@Sendable (AutomaticPlace) -> AutomaticFit)?

    /// Makes a kind.
    ///
    /// - Parameters:
    ///   - name: the name that selects the kind.
    ///   - summary: what the surface is, in a few words.
    ///   - settings: the settings that a section of this kind may have.
    ///   - make: makes a backend.
    ///   - isApplicable: whether there is a surface here, or may be one while the app runs; by default `true`. A
    ///     backend without is skipped without a warning, because the same configuration is used in many places.
    ///   - availability: whether it could work here; by default it could.
    public init(
        name: String,
        summary: String,
        settings: [BackendSetting] = [],
        make: @escaping @Sendable (BackendContext, BackendSettings) throws -> any IndicatorBackend,
        isApplicable: @escaping @Sendable (BackendContext, BackendSettings) -> Bool = { _, _ in true },
        availability: @escaping @Sendable (BackendContext, BackendSettings) async -> BackendAvailability = { _, _ in
            .available(detail: nil)
        }
    ) {
        self.name = name
        self.summary = summary
        self.settings = settings
        self.make = make
        self.isApplicable = isApplicable
        self.availability = availability
    }
}

/// Whether a kind of backend could work where the program runs.
public enum BackendAvailability: Sendable, Hashable {
    /// It could; `detail` is where, such as `/dev/pts/3`.
    case available(detail: String?)
    /// It could not, because of `reason`; `help` is what to install or set, if that would help.
    case unavailable(reason: String, help: String?)
}

extension BackendKind {
    /// Makes a kind whose settings are bound to the properties of a type.
    ///
    /// - Parameters:
    ///   - name: the name that selects the kind.
    ///   - summary: what the surface is, in a few words.
    ///   - settings: the type.
    ///   - make: makes a backend.
    ///   - isApplicable: whether there is a surface here; by default `true`.
    ///   - fit: whether `backends: auto` chooses it; by default never.
    ///   - availability: returns where it could show something, such as `/dev/pts/3`, or throws why it could not.
    package init<Settings: KindSettings>(
        name: String,
        summary: String,
        settings: Settings.Type,
        make: @escaping @Sendable (BackendContext, Settings) throws -> any IndicatorBackend,
        isApplicable: @escaping @Sendable (BackendContext, Settings) -> Bool = { _, _ in true },
        fit: (@Sendable (AutomaticPlace) -> AutomaticFit)? = nil,
        availability: @escaping @Sendable (BackendContext, Settings) async throws -> String
    ) {
        @Sendable func read(_ values: BackendSettings, _ context: BackendContext) throws -> Settings {
            var settings = try Settings(values)
            settings.adopt(context)
            return settings
        }
        self.init(
            name: name,
            summary: summary,
            settings: Settings.bindings.map(\.definition),
            make: { context, values in try make(context, read(values, context)) },
            isApplicable: { context, values in
                // Otherwise, making it throws the reason.
                guard let settings = try? read(values, context) else { return true }
                return isApplicable(context, settings)
            },
            availability: { context, values in
                do {
                    return .available(detail: try await availability(context, read(values, context)))
                } catch let error as any BackendProblem {
                    return .unavailable(reason: error.reason, help: error.help)
                } catch {
                    return .unavailable(reason: "\(error)", help: nil)
                }
            }
        )
        self.fit = fit
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
    /// Whether a configuration names the backend; otherwise it is a default one.
    package var isNamed: Bool
    /// Whether the user has set `accessible`, for screen readers: the backend must not animate anything.
    public var isAccessible: Bool

    /// Makes a context, for the tests of a kind.
    public init(name: String, applicationName: String, logger: Logger, isAccessible: Bool = false) {
        self.init(
            name: name,
            applicationName: applicationName,
            logger: logger,
            isNamed: true,
            isAccessible: isAccessible
        )
    }

    package init(name: String, applicationName: String, logger: Logger, isNamed: Bool, isAccessible: Bool) {
        self.name = name
        self.applicationName = applicationName
        self.logger = logger
        self.isNamed = isNamed
        self.isAccessible = isAccessible
    }
}
