#if DBus
@testable import DesktopBackends
import TestSupport

@Suite(.needs(.bus)) struct DBusRecoveryTests {
    private func makeManager(on bus: PrivateBus) throws -> (IndicatorManager, InMemoryBackend) {
        let settings = DBusPropertySettings(bus: .address(bus.address))
        let other = InMemoryBackend()
        let backends: [any IndicatorBackend] = [
            DBusPropertyBackend(applicationName: "test", settings: settings), other,
        ]
        return (IndicatorManager(delays: .zero, backends: backends), other)
    }

    @Test("Without a bus the status has the reason, neither work nor shutdown is delayed; one that appears is used")
    func busAppears() async throws {
        let bus = try await PrivateBus(isRunning: false)
        let (manager, other) = try makeManager(on: bus)
        #expect(await eventually { manager.backendStatuses[0].state.description.contains("cannot be reached") })
        let activity = manager.begin("Working")
        #expect(await eventually { other.snapshots.last?.isVisible == true })
        try await bus.start()
        #expect(await eventually { manager.backendStatuses[0].state == .running })
        #expect(try await eventually { try await bus.property("Label", of: "test") == "s \"Working\"" })
        #expect(try await eventually { try await bus.property("Visible", of: "test") == "b true" })
        activity.end()
        await manager.shutdown()
    }

    @Test func `A suspended bus delays nothing, and catches up when it resumes`() async throws {
        let bus = try await PrivateBus()
        let (manager, other) = try makeManager(on: bus)
        #expect(await eventually { manager.backendStatuses[0].state == .running })
        bus.pause()
        let activity = manager.begin("Stopped")
        #expect(await eventually { other.snapshots.last?.label == "Stopped" })
        // Far more than a socket's buffer: messages that the bus does not read must not accumulate.
        for count in 1...200 {
            manager.start("activity \(count)", label: String(repeating: "x", count: 10_000))
            manager.stop("activity \(count)")
        }
        bus.resume()
        #expect(await eventually { (try? await bus.property("Label", of: "test")) == "s \"Stopped\"" })
        #expect(try await eventually { try await bus.property("ActivityCount", of: "test") == "u 1" })
        bus.pause()
        activity.end()
        await manager.shutdown()
        bus.resume()
    }

    @Test("A suspended bus makes a starting backend unavailable, with the reason; shutdown returns within its limit")
    func busIsSuspendedAtStart() async throws {
        let bus = try await PrivateBus()
        bus.pause()
        let (manager, _) = try makeManager(on: bus)
        #expect(await eventually { manager.backendStatuses[0].state.description.contains("does not answer") })
        await manager.shutdown()
        let (second, _) = try makeManager(on: bus)
        // While it starts.
        await second.shutdown()
        let (third, _) = try makeManager(on: bus)
        bus.resume()
        #expect(await eventually { third.backendStatuses[0].state == .running })
        await third.shutdown()
    }
}
#endif
