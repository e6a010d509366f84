public import IndicatorCore

/// A kind of surface that a config file can select by name: how its settings are called, and how a backend is made of
/// them.
///
/// The built-in kinds are in every ``BackendRegistry``; an app registers its own beside them.
public struct BackendKind: Sendable {
    /// The name that selects the kind, such as `logFile`.
    public var name: String
    /// What the surface is, in a few words, for tables and help texts.
    public var summary: String
    /// The settings that a section of this kind may have.
    public var settings: [BackendSetting]
    /// Makes a backend. Must not touch the surface yet: `start()` of the backend does.
    ///
    /// Throws when the settings do not fit together in a way that their definitions cannot say.
    public var make: @Sendable (BackendContext, BackendSettings) throws -> any IndicatorBackend
    /// Whether there is anything here that a backend with these settings could show on: a terminal, a bus. Asked only
    /// for backends that nobody named; one that has nothing to show on is left out without a warning. Must return at
    /// once.
    public var isApplicable: @Sendable (BackendContext, BackendSettings) -> Bool
    /// Says whether a backend with these settings could show anything here and now, without leaving a trace.
    public var availability: @Sendable (BackendContext, BackendSettings) async -> BackendAvailability

    /// Makes a kind.
    ///
    /// - Parameters:
    ///   - name: the name that selects it.
    ///   - summary: what the surface is, in a few words.
    ///   - settings: the settings that a section of this kind may have.
    ///   - make: makes a backend.
    ///   - isApplicable: whether there is anything here to show on; by default there is.
    ///   - availability: whether it could work here; by default it says that it can.
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
    /// It could; `detail` says where it would show, such as `/dev/pts/3`.
    case available(detail: String?)
    /// It could not, for `reason`; `help` says what to install or set, when anything would help.
    case unavailable(reason: String, help: String?)
}
