public import BackendConfiguration
import Foundation
public import IndicatorCore

/// A backend on a message bus: a ``BusSession`` at a time, on a connection of its own.
///
/// ```swift
/// BusBackend(name: "tray", on: .session) { context in TraySession(context.control) }
/// ```
///
/// All backends on a bus share a thread. Without the bus, or what the session needs on it, the backend is unavailable
/// until that appears.
public class BusBackend: IndicatorBackend, @unchecked Sendable {
    // `@unchecked`: the constants of a subclass are, too.

    /// What a session is made of.
    public struct Context {
        /// The name of the backend.
        public var name: String
        /// The resolved address of the bus.
        public var address: String
        /// The handle to the indicator.
        public var control: IndicatorControl
    }

    /// Makes a session, on the thread of the bus; throws why the backend is unavailable.
    public typealias SessionMaker = @Sendable (Context) throws -> any BusSession

    /// The name that the config file and the diagnostics use.
    public let name: String
    /// How updates are delivered.
    public let delivery: BackendDelivery

    private let bus: DBusAddress
    private let makeSession: SessionMaker

    /// Makes a backend. Does not connect.
    ///
    /// - Parameters:
    ///   - name: the name that the config file and the diagnostics use.
    ///   - bus: the bus.
    ///   - delivery: how updates are delivered. Its target and thread are those of the bus.
    ///   - makeSession: makes a session for each connection.
    public init(
        name: String,
        on bus: DBusAddress,
        delivery: BackendDelivery = BackendDelivery(),
        makeSession: @escaping SessionMaker
    ) {
        self.name = name
        var delivery = delivery
        delivery.target = "\(bus)"
        delivery.thread = Self.thread(of: bus)
        delivery.spreadsRetries = true
        self.delivery = delivery
        self.bus = bus
        self.makeSession = makeSession
    }

    private static let threads = Locked<[DBusAddress: BackendThread]>([:])

    /// It exists while there is work for it, or a connection.
    package static func thread(of bus: DBusAddress) -> BackendThread {
        threads.withLock { threads in
            let thread = threads[bus] ?? BackendThread(name: "ind-dbus")
            threads[bus] = thread
            return thread
        }
    }

    /// Shows the updates in a session. At the end, removes what is shown, and disconnects.
    ///
    /// - Throws: if there is no bus, or not what is needed on it, or if that is lost.
    public func show(_ updates: IndicatorUpdates) async throws {
        while true {
            let link = try link(updates.control) { updates.wake() }
            do {
                _ = try await link.begin()
                try await link.show(updates)
                return await link.end()
            } catch {
                let mayBegin = await link.waitForServices(updates, because: error)
                await link.end()
                guard mayBegin else { throw error }
            }
        }
    }

    /// Checks whether a session can begin, and ends it immediately. Returns its summary.
    func probe() async throws -> String {
        try await withTaskExecutorPreference(Self.thread(of: bus).thread) {
            let link = try link(IndicatorControl(nil)) {}
            let result: Result<String, any Error>
            do { result = .success(try await link.begin()) } catch { result = .failure(error) }
            await link.end()
            return try result.get()
        }
    }

    private func link(_ control: IndicatorControl, onEvent: @escaping () -> Void) throws -> BusConnection {
        let address = try bus.resolved(in: ProcessInfo.processInfo.environment)
        let context = Context(name: name, address: address, control: control)
        let session = try makeSession(context)
        return BusConnection(
            to: address,
            thread: Self.thread(of: bus).thread,
            session: session,
            onEvent: onEvent
        )
    }
}

extension BackendKind {
    /// Makes a kind of backend on a bus, which has a surface where there may be a bus, or a configuration names it. Its
    /// availability is whether a session can begin.
    ///
    /// - Parameters:
    ///   - name: the name that selects the kind.
    ///   - summary: what the surface is, in a few words.
    ///   - settings: reads the settings of a section.
    ///   - bus: the bus.
    ///   - automatic: whether `backends: auto` chooses the kind where the app runs; by default it never does. See
    ///     ``DBusAddress/hasService(_:in:)``.
    ///   - make: makes a backend.
    public init<Settings: Sendable>(
        name: String,
        summary: String,
        settings: @escaping @Sendable (inout SettingsReader) -> Settings,
        bus: @escaping @Sendable (Settings) -> DBusAddress,
        automatic: (@Sendable (BackendContext, Settings) -> AutomaticFit)? = nil,
        make: @escaping @Sendable (BackendContext, Settings) -> BusBackend
    ) {
        self.init(
            name: name,
            summary: summary,
            settings: settings,
            make: make,
            // Who names it wants it as soon as there is a bus.
            isApplicable: { context, settings in
                context.isNamed || bus(settings).mayExist(in: context.environment)
            },
            availability: { context, settings in try await make(context, settings).probe() },
            automatic: automatic
        )
    }
}
