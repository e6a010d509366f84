#if DBus
import Foundation
import IndicatorBackends
import TestSupport
import Testing

@Suite struct DBusPropertyCostTests {
    @Test("A property read from another process costs at most 1.3 times a Peer.Ping of the same process")
    func read() async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe("property", bus: bus)
        #expect(try await probe.backend("dbusProperty", is: "running"))
        // What else the machine does slows both down, and not always alike: the best of a few tries is what it costs.
        var ratios: [Double] = []
        let isCheap = try await eventually(within: .seconds(30)) {
            ratios.append(try Self.ratio(on: bus))
            return ratios.last.map { $0 <= 1.3 } ?? false
        }
        #expect(isCheap, "\(ratios)")
    }

    /// The median time of a read by that of a ping, measured in turns.
    private static func ratio(on bus: PrivateBus) throws -> Double {
        let loop = try BusLoop(address: bus.address, wakeUp: BusWakeUp())
        var pings: [Duration] = []
        var reads: [Duration] = []
        for _ in 0..<1000 {
            pings.append(try time(of: loop, interface: "org.freedesktop.DBus.Peer", member: "Ping", []))
            let arguments: [BusValue] = [.string(IndicatorObject.interface), .string("Visible")]
            reads.append(try time(of: loop, interface: "org.freedesktop.DBus.Properties", member: "Get", arguments))
        }
        return reads.sorted()[500] / pings.sorted()[500]
    }

    private static func time(
        of loop: BusLoop,
        interface: String,
        member: String,
        _ arguments: [BusValue]
    ) throws -> Duration {
        let call = BusMessage.call(
            "org.activityindicator.Indicator1.probe",
            path: IndicatorObject.path,
            interface: interface,
            member: member,
            arguments
        )
        let start = ContinuousClock.now
        _ = try loop.call(call)
        return start.duration(to: .now)
    }
}
#endif
