#if DBus
import Foundation
public import IndicatorCore

/// What a ``DBusPropertyBackend`` puts where.
public struct DBusPropertySettings: Sendable, Hashable {
    /// The bus. Default: the session bus.
    public var bus: DBusAddress
    /// What takes the place of the app's name in the bus name; made valid by the same rule. Default: `nil`, the app's name.
    public var name: String?

    /// Makes settings, by default the default ones.
    public init(bus: DBusAddress = .session, name: String? = nil) {
        self.bus = bus
        self.name = name
    }
}

/// The indicator as a D-Bus object that panels read.
///
/// Owns `org.activityindicator.Indicator1.<App>` on a message bus; when another process has that name, the same with
/// `.instance<pid>` after it. The object is `/org/activityindicator/Indicator1`, its interface
/// `org.activityindicator.Indicator1`:
///
/// | property | type | |
/// |---|---|---|
/// | `Visible` | `b` | whether the indicator is shown |
/// | `State` | `s` | `inactive`, `delayingStart`, `active`, `delayingCompletion` |
/// | `ActivityCount` | `u` | how many activities are in progress |
/// | `Label` | `s` | empty when there is none; at most 1 MiB of it, and U+FFFD for a NUL or a noncharacter |
/// | `Progress` | `d` | 0…1, -1 when not known |
/// | `Application` | `s` | the name of the app, constant |
/// | `ProcessID` | `u` | constant |
/// | `Enabled` | `b` | can be set: whether the indicator is switched on |
///
/// `PropertiesChanged` carries what changed, and only that. A panel lists the names on the bus, reads `GetAll` of each, and
/// follows `PropertiesChanged` and `NameOwnerChanged`.
///
/// In the bus name, every character of the app's name other than an ASCII letter, a digit, `_` and `-` becomes `_`; a name that
/// begins with a digit gets a `_` in front; what is longer than 190 bytes is cut.
///
/// The backend has a private connection and a thread that sleeps until the bus or the indicator has news. A bus that goes away
/// makes it unavailable, and it is there again, with the name owned and the state right, after a bus has come back.
public final class DBusPropertyBackend: IndicatorBackend {
    private struct State: Sendable {
        var control = IndicatorControl()
        /// The latest snapshot, for the bus that comes after the one that is lost.
        var snapshot = IndicatorSnapshot()
        var service: IndicatorBusService?
    }

    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: DBusPropertySettings
    private let environment: @Sendable () -> [String: String]
    private let state = Locked(State())

    /// Makes a backend. It touches no bus before ``start()``.
    ///
    /// - Parameters:
    ///   - name: its name among the backends of an indicator.
    ///   - applicationName: the name of the app.
    ///   - settings: which bus, and which name on it.
    public convenience init(
        name: String = "dbusProperty",
        applicationName: String,
        settings: DBusPropertySettings = DBusPropertySettings()
    ) {
        self.init(name: name, applicationName: applicationName, settings: settings) {
            ProcessInfo.processInfo.environment
        }
    }

    package init(
        name: String,
        applicationName: String,
        settings: DBusPropertySettings,
        environment: @escaping @Sendable () -> [String: String]
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.environment = environment
    }

    /// Hidden changes too: a panel may show how much is going on before the indicator is.
    public var delivery: BackendDelivery { BackendDelivery(includesHidden: true) }

    /// The bus name that is owned; `nil` while there is none.
    public var busName: String? { state.withLock { $0.service }?.name }

    /// Keeps the handle, for `Enabled` and for the loss of the bus.
    public func attach(to control: IndicatorControl) {
        state.withLock { $0.control = control }
    }

    /// Connects and owns the name. Throws ``DBusPropertyError``.
    public func start() async throws {
        let (control, snapshot) = state.withLock { ($0.control, $0.snapshot) }
        let processID = getpid()
        let service = try IndicatorBusService(
            address: settings.bus.resolved(in: environment()),
            names: IndicatorBusName.candidates(for: settings.name ?? applicationName, processID: processID),
            object: IndicatorObject(application: applicationName, processID: UInt32(bitPattern: processID)),
            snapshot: snapshot,
            control: control
        )
        try await service.start()
        state.withLock { $0.service = service }
    }

    /// Publishes the snapshot. Throws ``DBusPropertyError`` when the bus is gone.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        let service = state.withLock { state in
            state.snapshot = snapshot
            return state.service
        }
        try service?.publish(snapshot)
    }

    /// Announces the last snapshot, gives the name back and disconnects.
    public func stop() async {
        let service = state.withLock { $0.service.take() }
        await service?.stop()
    }
}
#endif
