#if DBus
import TestSupport

@testable import DesktopBackends

/// The backends of this module on a private bus that ends and returns.
@Suite(.needs(.busScripts)) struct DesktopCompatibilityTests {
    /// - Parameter service: starts the service that the backend needs, whose end takes the surface away; without one,
    ///   the end of the bus does.
    private func check<Service: Sendable>(
        _ expectation: BackendCompatibility.Case,
        on bus: PrivateBus,
        service start: (@Sendable () async throws -> Service)?,
        shown: (@Sendable (Service) async throws -> String)? = nil,
        _ session: @escaping BusBackend.SessionMaker
    ) async throws {
        let service = Locked<Service?>(try await start?())
        var read: (@Sendable () async throws -> String)?
        if let shown {
            read = { () async throws -> String in
                let current: Service? = service.withLock { $0 }
                guard let current else { return "" }
                return try await shown(current)
            }
        }
        let surface = BackendCompatibility.Surface(
            take: { if start == nil { await bus.kill() } else { _ = service.withLock { $0.take() } } },
            giveBack: {
                guard let start else { return try await bus.start() }
                let new = try await start()
                service.withLock { $0 = new }
            },
            hang: { bus.pause() },
            goOn: { bus.resume() },
            shown: read
        )
        let suite = BackendCompatibility(
            make: { BusBackend.probe(on: bus, session) },
            surface: surface
        )
        try await suite.check(expectation)
    }

    private static let noService: (@Sendable () async throws -> Int)? = nil

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The property`(_ expectation: BackendCompatibility.Case) async throws {
        try await check(expectation, on: PrivateBus(), service: Self.noService, BusBackend.property("probe"))
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The dock`(_ expectation: BackendCompatibility.Case) async throws {
        try await check(expectation, on: PrivateBus(), service: Self.noService, BusBackend.dock)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `Jobs`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let start: @Sendable () async throws -> JobServer = { try JobServer(on: bus) }
        try await check(expectation, on: bus, service: start, shown: { "\($0.open.count)" }, BusBackend.job)
    }

    @Test(.needs(.notifications), arguments: BackendCompatibility.Case.allCases)
    func `Notifications`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let start: @Sendable () async throws -> ScriptedServer = { try ScriptedServer(address: bus.address) }
        try await check(expectation, on: bus, service: start, shown: { "\($0.shown)" }, BusBackend.notification)
    }

    @Test(.needs(.rootMounts), .needs(.login), arguments: BackendCompatibility.Case.allCases)
    func `The lock of login1`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let start: @Sendable () async throws -> LoginManager = { try await LoginManager(on: bus) }
        let shown: @Sendable (LoginManager) async throws -> String = { "\(try await $0.inhibitors() ?? [])" }
        try await check(expectation, on: bus, service: start, shown: shown, BusBackend.lock)
    }
}
#endif
