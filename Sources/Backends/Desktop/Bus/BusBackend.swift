import BackendConfiguration
import Foundation
public import IndicatorCore
package import IndicatorThreads

/// A backend on a message bus, as far as all of them are the same: the handle, the latest snapshot, and one session at
/// a time, on a connection of its own. Apps make its subclasses.
///
/// All backends on a bus share a thread. Without the bus, or what the backend needs on it, it is unavailable until that
/// appears.
public class BusBackend: ConnectedBackend, @unchecked Sendable {
    // `@unchecked`: what is not constant and has no lock is only used on the thread.

    /// What a session is made of.
    struct Context {
        /// The resolved address of the bus.
        var address: String
        var control: IndicatorControl
        /// The latest snapshot; finished activities are returned once.
        var latest: () -> IndicatorSnapshot
    }

    typealias SessionMaker = @Sendable (Context) throws -> any BusSession

    /// The name that the config file and the diagnostics use.
    public let name: String
    /// How snapshots are delivered.
    public let delivery: BackendDelivery
    /// The thread of all backends on the bus.
    package let thread: ServiceThread

    private let bus: DBusAddress
    private let makeSession: SessionMaker
    private let control = Locked(IndicatorControl())
    private let currentSummary = Locked<String?>(nil)
    private let latest = Latest()
    private var link: BusLink?

    /// The latest snapshot, for the next session after one was lost.
    private final class Latest {
        var snapshot = IndicatorSnapshot()

        func take() -> IndicatorSnapshot {
            defer { snapshot = snapshot.withoutReports }
            return snapshot
        }
    }

    init(
        name: String,
        on bus: DBusAddress,
        delivery: BackendDelivery = BackendDelivery(),
        makeSession: @escaping SessionMaker
    ) {
        self.name = name
        var delivery = delivery
        delivery.target = "\(bus)"
        self.delivery = delivery
        self.bus = bus
        self.makeSession = makeSession
        thread = Self.thread(of: bus)
    }

    deinit {
        guard let link else { return }
        Task.detached(executorPreference: thread) { await link.end() }
    }

    private static let threads = Locked<[DBusAddress: ServiceThread]>([:])

    /// It exists while there is work for it, or a connection.
    package static func thread(of bus: DBusAddress) -> ServiceThread {
        threads.withLock { threads in
            let thread = threads[bus] ?? ServiceThread(name: "ind-dbus", idleTime: .zero)
            threads[bus] = thread
            return thread
        }
    }

    /// The result of ``BusSession/begin(on:)`` while the session runs.
    var summary: String? { currentSummary.withLock { $0 } }

    /// Keeps the handle, to report when what is needed appears or vanishes.
    public func attach(to control: IndicatorControl) {
        self.control.withLock { $0 = control }
    }

    /// Connects. Throws if there is no bus, or not what is needed on it.
    public func start() async throws {
        try await withTaskExecutorPreference(thread) {
            // After a failed attempt, the previous session still waits for what was missing.
            await link.take()?.end()
            let link = try link(control.withLock { $0 })
            self.link = link
            let summary = try await link.begin()
            currentSummary.withLock { $0 = summary }
        }
    }

    /// Shows a snapshot. Throws if that is no longer possible.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        try await withTaskExecutorPreference(thread) {
            var snapshot = snapshot
            snapshot.prepend(latest.snapshot.allFinished)
            latest.snapshot = snapshot
            do {
                try link?.update()
            } catch {
                // The runner delivers the finished activities again.
                latest.snapshot = snapshot.withoutReports
                throw error
            }
        }
    }

    /// Removes what is shown, and disconnects.
    public func stop() async {
        await withTaskExecutorPreference(thread) {
            await link.take()?.end()
            currentSummary.withLock { $0 = nil }
        }
    }

    /// Checks whether a session can begin, and ends it immediately. Returns its summary.
    func probe() async throws -> String {
        try await withTaskExecutorPreference(thread) {
            let link = try link(IndicatorControl())
            let result: Result<String, any Error>
            do { result = .success(try await link.begin()) } catch { result = .failure(error) }
            await link.end()
            return try result.get()
        }
    }

    /// The address of the bus, checked.
    final func address() throws -> String { try bus.resolved(in: ProcessInfo.processInfo.environment) }

    private func link(_ control: IndicatorControl) throws -> BusLink {
        let context = Context(
            address: try address(),
            control: control,
            latest: { [latest] in latest.take() }
        )
        return BusLink(
            to: context.address,
            thread: thread,
            session: try makeSession(context),
            onLoss: { [weak self] error in
                self?.currentSummary.withLock { $0 = nil }
                control.surfaceWasLost("\(error)")
            },
            onAppearance: control.retry
        )
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
