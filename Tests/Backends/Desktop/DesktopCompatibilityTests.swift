#if DBus
import Foundation
import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import Logging
import TestSupport
import Testing

@testable import DesktopBackends

/// The backends of this module on a private bus that ends and returns.
@Suite(.needs(.busScripts)) struct DesktopCompatibilityTests {
    private static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

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
            make: { BusBackend(name: "probe", on: .address(bus.address), makeSession: session) },
            surface: surface
        )
        try await suite.check(expectation)
    }

    private static let noService: (@Sendable () async throws -> Int)? = nil

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The property`(_ expectation: BackendCompatibility.Case) async throws {
        try await check(expectation, on: PrivateBus(), service: Self.noService) {
            DBusPropertySession(
                names: ["org.activityindicator.Indicator1.probe"],
                object: DBusPropertyObject(application: "probe", processID: 1),
                context: $0
            )
        }
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The dock`(_ expectation: BackendCompatibility.Case) async throws {
        try await check(expectation, on: PrivateBus(), service: Self.noService) { _ in
            LauncherEntrySession(desktopFile: "org.example.probe.desktop")
        }
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `Jobs`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let start: @Sendable () async throws -> JobServer = { try JobServer(on: bus) }
        try await check(expectation, on: bus, service: start, shown: { "\($0.open.count)" }) {
            DesktopJobSession(applicationName: "probe", settings: .init(), logger: Self.quiet, context: $0)
        }
    }

    @Test(.needs(.notifications), arguments: BackendCompatibility.Case.allCases)
    func `Notifications`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let start: @Sendable () async throws -> ScriptedServer = { try ScriptedServer(address: bus.address) }
        try await check(expectation, on: bus, service: start, shown: { "\($0.shown)" }) {
            NotificationSession(
                applicationName: "probe",
                settings: DesktopNotificationSettings(through: .dbus),
                logger: Self.quiet,
                context: $0
            )
        }
    }

    @Test(.needs(.rootMounts), .needs(.login), arguments: BackendCompatibility.Case.allCases)
    func `The lock of login1`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let start: @Sendable () async throws -> LoginManager = { try await LoginManager(on: bus) }
        try await check(expectation, on: bus, service: start, shown: { "\(try await $0.inhibitors() ?? [])" }) { _ in
            SleepInhibitorSession(applicationName: "probe", settings: .init(), logger: Self.quiet)
        }
    }
}
#endif
