public import IndicatorCore
public import Logging

/// A kind of backend that a config file can select by name: its settings, and how a backend is made from them.
///
/// `BackendRegistry.standard` has the built-in kinds; an app can register more:
///
/// ```swift
/// registry.register(
///     BackendKind(
///         name: "led",
///         summary: "an LED below /sys/class/leds",
///         defaults: LEDSettings(),
///         settings: [Setting("path", \.path, .path, summary: "the LED's brightness file", isRequired: true)]
///     ) { context, settings in
///         LEDBackend(name: context.name, path: settings.path)
///     }
/// )
/// ```
public struct BackendKind: Sendable {
    /// The values of a section by the names of its settings; the others are the defaults.
    package typealias Values = [String: SettingValue]

    /// The name that selects the kind, such as `logFile`.
    public let name: String
    /// What the surface is, in a few words, for tables and help texts.
    package let summary: String
    /// The settings that a section of this kind may have. Made anew, so that an app does not make those of all kinds.
    package var settings: [SettingDefinition] { makeSettings() }
    private let makeSettings: @Sendable () -> [SettingDefinition]
    /// Makes a backend with these values.
    package let make: @Sendable (BackendContext, Values) throws -> any IndicatorBackend
    /// Whether a backend with these values has a surface here. One without is skipped.
    package let isApplicable: @Sendable (BackendContext, Values) -> Bool
    /// Where a backend with these values could show something here, such as `/dev/pts/3`, or why it could not.
    package let availability: @Sendable (BackendContext, Values) async -> Result<String?, Unavailability>
    /// Whether `backends: auto` chooses it; `nil` if it never does. Must not block.
    package var fit: (@Sendable (AutomaticPlace) -> AutomaticFit)?

    /// Makes a kind with settings.
    ///
    /// - Parameters:
    ///   - name: the name that selects the kind.
    ///   - summary: what the surface is, in a few words.
    ///   - defaults: the settings if a section has none.
    ///   - settings: the settings that a section of this kind may have, in the order of the reference.
    ///   - make: makes a backend. Must not touch the surface: the backend's `start()` does that. Throws if the
    ///     settings are inconsistent in a way that none of them alone is.
    ///   - isApplicable: whether there is a surface here, such as a terminal, or may be one while the app runs; by
    ///     default `true`. A backend without is skipped without a warning, because the same configuration is used in
    ///     many places. Must not block.
    ///   - availability: returns where it could show something, such as `/dev/pts/3`, if that is of interest, or throws
    ///     why it could not. Checks that without side effects. By default, it could.
    public init<Settings: Sendable>(
        name: String,
        summary: String,
        defaults: Settings,
        settings: @autoclosure @escaping @Sendable () -> [Setting<Settings>],
        make: @escaping @Sendable (BackendContext, Settings) throws -> any IndicatorBackend,
        isApplicable: @escaping @Sendable (BackendContext, Settings) -> Bool = { _, _ in true },
        availability: @escaping @Sendable (BackendContext, Settings) async throws -> String? = { _, _ in nil }
    ) {
        // In the order of the settings, of which one may have precedence over another.
        @Sendable func read(_ values: Values) -> Settings {
            settings().reduce(into: defaults) { values[$1.name]?.apply(to: &$0) }
        }
        self.name = name
        self.summary = summary
        makeSettings = { settings().map { $0.definition(defaults: defaults) } }
        self.make = { context, values in try make(context, read(values)) }
        self.isApplicable = { context, values in isApplicable(context, read(values)) }
        self.availability = { context, values in
            do { return .success(try await availability(context, read(values))) } catch {
                return .failure(Unavailability(error))
            }
        }
    }

    /// Makes a kind without settings.
    public init(
        name: String,
        summary: String,
        make: @escaping @Sendable (BackendContext, Void) throws -> any IndicatorBackend
    ) {
        self.init(name: name, summary: summary, defaults: (), settings: [], make: make)
    }

    /// The kind, of which `backends: auto` asks whether it fits.
    package func fitting(_ fit: @escaping @Sendable (AutomaticPlace) -> AutomaticFit) -> Self {
        var copy = self
        copy.fit = fit
        return copy
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
    /// Whether a configuration names the backend; otherwise it is a default one.
    package var isNamed = true

    /// Makes a context, for the tests of a kind.
    public init(name: String, applicationName: String, logger: Logger, isAccessible: Bool = false) {
        (self.name, self.applicationName) = (name, applicationName)
        (self.logger, self.isAccessible) = (logger, isAccessible)
    }
}
