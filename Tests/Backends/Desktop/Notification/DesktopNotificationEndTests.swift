#if DBus
import Foundation
import TestSupport
import Testing

@testable import DesktopBackends

/// What remains on the screen after the app has ended.
@Suite struct DesktopNotificationEndTests {
    @Test(.needs(.notifications), arguments: NotificationWay.allCases)
    func `An app that ends right after shutdown() leaves no notification, even on a busy machine`(way: NotificationWay)
        async throws
    {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let load = try (0..<2).map { _ in try Daemon("/bin/sh", ["-c", "while :; do :; done"]) }
        // At night, 200 processes do so.
        let runs = 4
        for run in 0..<runs {
            let probe = try await DesktopProbe("notification", through: way, bus: bus)
            try await probe.tell("begin", "run \(run)")
            // Every second run ends while the notification is being sent.
            if run.isMultiple(of: 2) {
                #expect(await eventually { monitor.shown.contains { $0.body == "run \(run)" } })
            }
            probe.send("quit")
            #expect(await eventually { !probe.isRunning })
            #expect(try await eventually { try await server.displayedCount == 0 })
        }
        for process in load { await process.end() }
        // Each notification that the monitor has seen was closed.
        try await monitor.catchUp()
        let shown = monitor.shown.count { $0.identifier == 0 }
        #expect(shown >= runs / 2)
        #expect(Set(monitor.calls.filter { $0.member == "CloseNotification" }.map(\.identifier)).count == shown)
        #expect(try await server.historyCount == shown)
    }

    @Test func `The expiry is less than a minute, and its renewal takes fewer than two wake-ups a minute`() {
        let settings = DesktopNotificationSettings()
        #expect(settings.expiry < .seconds(60) && settings.renewal > .seconds(30))
    }

    @Test(.needs(.notifications), arguments: NotificationWay.allCases)
    func `The notification of a killed app expires; while the app runs, it stays`(way: NotificationWay) async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        // Long enough for an app on a busy machine to renew it in time.
        let probe = try await DesktopProbe("notification", "expiry=22", through: way, bus: bus)
        try await probe.tell("begin", "work")
        #expect(try await eventually { try await server.displayedCount == 1 })
        // It is renewed twice without any change.
        #expect(await eventually(within: .seconds(180)) { monitor.shown.count >= 3 }, "\(monitor.shown)")
        #expect(try await server.displayedCount == 1)
        #expect(try await server.historyCount == 0)
        for call in monitor.shown {
            #expect(call.timeout == 22_000)
            #expect(call.body == "work")
        }
        await probe.kill()
        #expect(try await eventually { try await server.displayedCount == 0 })
        #expect(try await server.historyCount == 1)
    }
}
#endif
