#if DBus
@testable import DesktopBackends
import TestSupport

@Suite(.needs(.bus)) struct DBusRecoveryTests {
    private static let name = "org.activityindicator.Indicator1.test"
    private static let path = "/org/activityindicator/Indicator1"
    private static let interface = "org.activityindicator.Indicator1"

    private func makeManager(on bus: PrivateBus) throws -> (IndicatorManager, InMemoryBackend) {
        let settings = DBusPropertySettings(bus: .address(bus.address))
        let other = InMemoryBackend()
        let backends: [any IndicatorBackend] = [
            DBusPropertyBackend(applicationName: "test", settings: settings), other,
        ]
        return (IndicatorManager(delays: .zero, backends: backends), other)
    }

    private func property(_ property: String, on bus: PrivateBus) async throws -> String {
        let result = try await bus.busctl("get-property", Self.name, Self.path, Self.interface, property)
        return result.status == 0 ? result.output : result.error
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
        #expect(try await eventually { try await property("Label", on: bus) == "s \"Working\"\n" })
        #expect(try await eventually { try await property("Visible", on: bus) == "b true\n" })
        activity.end()
        await manager.shutdown()
    }

    @Test func `The loss of the bus is noticed immediately, and the name and the state return with it`() async throws {
        let bus = try await PrivateBus()
        let (manager, other) = try makeManager(on: bus)
        #expect(await eventually { manager.backendStatuses[0].state == .running })
        let activity = manager.begin("Before")
        #expect(await eventually { (try? await property("Label", on: bus)) == "s \"Before\"\n" })
        for round in 1...2 {
            await bus.kill()
            // No update is needed to notice.
            #expect(await eventually { manager.backendStatuses[0].state.name == "unavailable" })
            #expect(manager.backendStatuses[0].lastError?.contains("the bus at '\(bus.address)'") == true)
            activity.update { $0.label = "Round \(round)" }
            #expect(await eventually { other.snapshots.last?.label == "Round \(round)" })
            try await bus.start()
            #expect(await eventually { manager.backendStatuses[0].state == .running })
            #expect(try await eventually { try await property("Label", on: bus) == "s \"Round \(round)\"\n" })
            #expect(try await eventually { try await property("Visible", on: bus) == "b true\n" })
        }
        activity.end()
        #expect(await eventually { (try? await property("Visible", on: bus)) == "b false\n" })
        await manager.shutdown()
        #expect(manager.backendStatuses[0].state == .stopped)
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
        #expect(await eventually { (try? await property("Label", on: bus)) == "s \"Stopped\"\n" })
        #expect(try await eventually { try await property("ActivityCount", on: bus) == "u 1\n" })
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
