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

    private func check(
        _ expectation: BackendCompatibility.Case,
        on bus: PrivateBus,
        takes: Bool = true,
        _ session: @escaping BusBackend.SessionMaker
    ) async throws {
        let surface =
            takes
            ? BackendCompatibility.Surface(take: { await bus.kill() }, giveBack: { try await bus.start() })
            : BackendCompatibility.Surface()
        let suite = BackendCompatibility(
            make: { BusBackend(name: "probe", on: .address(bus.address), makeSession: session) },
            surface: surface
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The property`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let suite = BackendCompatibility(
            make: {
                DBusPropertyBackend(
                    applicationName: "test",
                    settings: DBusPropertySettings(bus: .address(bus.address))
                )
            },
            surface: BackendCompatibility.Surface(take: { await bus.kill() }, giveBack: { try await bus.start() })
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The dock`(_ expectation: BackendCompatibility.Case) async throws {
        try await check(expectation, on: PrivateBus()) { _ in
            LauncherEntrySession(desktopFile: "org.example.probe.desktop")
        }
    }

    /// The servers of these are on the same bus, and end with it.
    @Test(arguments: BackendCompatibility.Case.allCases)
    func `Jobs`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let server = try JobServer(on: bus)
        try await check(expectation, on: bus, takes: false) {
            DesktopJobSession(applicationName: "probe", settings: .init(), logger: Self.quiet, context: $0)
        }
        #expect(await eventually { server.open.isEmpty })
    }

    @Test(.needs(.notifications), arguments: BackendCompatibility.Case.allCases)
    func `Notifications`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let server = try ScriptedServer(address: bus.address)
        try await check(expectation, on: bus, takes: false) {
            NotificationSession(
                applicationName: "probe",
                settings: DesktopNotificationSettings(through: .dbus),
                logger: Self.quiet,
                context: $0
            )
        }
        #expect(await eventually { server.shown.isEmpty })
    }

    @Test(.needs(.rootMounts), .needs(.login), arguments: BackendCompatibility.Case.allCases)
    func `The lock of login1`(_ expectation: BackendCompatibility.Case) async throws {
        let bus = try await PrivateBus()
        let login = try await LoginManager(on: bus)
        try await check(expectation, on: bus, takes: false) { _ in
            SleepInhibitorSession(applicationName: "probe", settings: .init(), logger: Self.quiet)
        }
        #expect(try await eventually { try await login.inhibitors() == [] })
    }
}
#endif
