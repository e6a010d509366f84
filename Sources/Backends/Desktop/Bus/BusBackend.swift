import BackendConfiguration
import Foundation
public import IndicatorCore
import IndicatorThreads

/// A backend on a message bus, as far as all of them are the same: one session at a time, on a connection of its own.
///
/// All backends on a bus share a thread. Without the bus, or what the backend needs on it, it is unavailable until that
/// appears.
public class BusBackend: IndicatorBackend, @unchecked Sendable {
    // `@unchecked`: the constants of a subclass are, too.

    /// What a session is made of.
    struct Context {
        /// The resolved address of the bus.
        var address: String
        var control: IndicatorControl
    }

    typealias SessionMaker = @Sendable (Context) throws -> any BusSession

    /// The name that the config file and the diagnostics use.
    public let name: String
    /// How updates are delivered.
    public let delivery: BackendDelivery

    private let bus: DBusAddress
    private let makeSession: SessionMaker
    private let currentSummary = Locked<String?>(nil)

    init(
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

    /// The result of ``BusSession/begin(on:)`` while the session runs.
    var summary: String? { currentSummary.withLock { $0 } }

    /// Shows the updates in a session. At the end, removes what is shown, and disconnects.
    ///
    /// - Throws: if there is no bus, or not what is needed on it, or if that is lost.
    public func show(_ updates: IndicatorUpdates) async throws {
        while true {
            let link = try link(updates.control) { updates.wake() }
            do {
                let summary = try await link.begin()
                currentSummary.withLock { $0 = summary }
                defer { currentSummary.withLock { $0 = nil } }
                try await link.show(updates)
                return await link.end()
            } catch {
                guard await link.waitForServices(updates, because: error) else {
                    await link.end()
                    throw error
                }
                await link.end()
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

    /// The address of the bus, checked.
    final func address() throws -> String { try bus.resolved(in: ProcessInfo.processInfo.environment) }

    private func link(_ control: IndicatorControl, onEvent: @escaping () -> Void) throws -> BusLink {
        let context = Context(address: try address(), control: control)
        let session = try makeSession(context)
        return BusLink(to: context.address, thread: Self.thread(of: bus).thread, session: session, onEvent: onEvent)
    }
}

extension BackendKind {
    /// Makes a kind of backend on a bus, which has a surface where there may be a bus, or a configuration names it.
    init<Settings: Sendable>(
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
