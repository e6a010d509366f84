#if DBus
import IndicatorThreads
import TestSupport
import Testing

@testable import DesktopBackends
@testable import IndicatorBackends
@testable import IndicatorCommands

@Suite struct IndicatorWatcherTests {
    private typealias Backlog = IndicatorWatcher.Backlog

    private func property(_ number: Int) -> [BusProperty] {
        [BusProperty("ActivityCount", .uint32(UInt32(number)))]
    }

    @Test("A consumer that does not read gets the latest state of each indicator, and the number of dropped events")
    func backlog() {
        var backlog = Backlog()
        backlog.append(.appeared(name: "a", properties: property(0)))
        for number in 1...100_000 {
            backlog.append(.changed(name: "a", properties: property(number), changed: ["ActivityCount"]))
            backlog.append(.finished(name: "a", label: "\(number)", outcome: "", message: "", seconds: 1))
        }
        #expect(backlog.events.count <= Backlog.limit + 1)
        var events: [IndicatorWatcher.Event] = []
        while let event = backlog.take() { events.append(event) }
        let kept = events.count - 1
        #expect(events.last == .dropped(200_001 - kept))
        let states = events.compactMap { event -> [BusProperty]? in
            switch event {
            case .appeared(_, let properties), .changed(_, let properties, _): properties
            default: nil
            }
        }
        #expect(states.contains(property(100_000)))
        #expect(events.contains(.finished(name: "a", label: "100000", outcome: "", message: "", seconds: 1)))
        #expect(backlog.take() == nil)
    }

    @Test("Few events are kept as they are, also when many indicators come and go")
    func order() {
        var backlog = Backlog()
        backlog.append(.appeared(name: "a", properties: property(0)))
        backlog.append(.vanished(name: "a"))
        #expect(backlog.take() == .appeared(name: "a", properties: property(0)))
        #expect(backlog.take() == .vanished(name: "a"))
        #expect(backlog.take() == nil)
        for number in 0..<100_000 { backlog.append(.vanished(name: "\(number)")) }
        #expect(backlog.events.count == 2 * Backlog.limit)
    }

    @Test(
        "watch with a blocked output keeps little, and then prints the latest state and the number of dropped events",
        .needs(.bus)
    )
    func blockedOutput() async throws {
        let bus = try await PrivateBus()
        let count = Locked(UInt32(0))
        let label = String(repeating: "x", count: 1000)
        @Sendable func properties(_ number: UInt32) -> BusValue {
            .properties(property(Int(number)) + [BusProperty("Label", .string("\(number) \(label)"))])
        }
        let name = IndicatorBusName.prefix + "flood"
        let peer = try BusPeer(name: name, path: IndicatorObject.path, address: bus.address) { message in
            guard message.member == "Flood" else { return [message.reply([properties(0)])] }
            let last = count.withLock { count in
                count += 1000
                return count
            }
            return (last - 999...last).map { number in
                .signal(
                    path: IndicatorObject.path,
                    interface: IndicatorObject.propertiesInterface,
                    member: "PropertiesChanged",
                    [.string(IndicatorObject.interface), properties(number), .strings([])]
                )
            } + [message.reply([])]
        }
        defer { withExtendedLifetime(peer) {} }
        // Its output is a pipe that is read after a line of input.
        let script = #"exec 3<&0; sh -c 'echo $$ >&2; exec "$0" watch --bus "$1"' "$@" | { read line <&3; exec cat; }"#
        let watch = try Daemon("sh", ["-c", script, "sh", try Command.built("indicator"), bus.address])
        #expect(await eventually { watch.errors.contains("\n") })
        let process = try #require(Int32(watch.errors.dropLast()))
        let caller = try BlockingBus(address: bus.address)
        func flood(_ times: Int) throws {
            for _ in 0..<times {
                let call = BusMessage.call(
                    name,
                    path: IndicatorObject.path,
                    interface: IndicatorObject.interface,
                    member: "Flood"
                )
                _ = try caller.call(call, timeLimit: .seconds(60))
            }
        }
        /// Returns when the program has received everything: it then reads an indicator that has appeared.
        func received(_ name: String) async throws {
            let isRead = Locked(false)
            let late = try BusPeer(
                name: IndicatorBusName.prefix + name,
                path: IndicatorObject.path,
                address: bus.address
            ) { message in
                isRead.withLock { $0 = true }
                return [message.reply([properties(0)])]
            }
            #expect(await eventually { isRead.withLock { $0 } })
            withExtendedLifetime(late) {}
        }
        try await received("first")
        try flood(5)
        let before = try peakMemory(of: process)
        try flood(30)
        try await received("second")
        #expect(try peakMemory(of: process) - before < 8_000)
        #expect(watch.output == "")
        watch.write("")
        // All changes, and the appearance of three indicators, two of which have vanished.
        #expect(
            await eventually {
                let reports = /(\d+) events were not printed, because the output was blocked\n/
                let dropped = watch.errors.matches(of: reports).compactMap { Int($0.1) }.reduce(0, +)
                return dropped > 0 && dropped + watch.output.count(where: \.isNewline) == 35_005
            },
            "\(watch.errors) \(watch.output.count(where: \.isNewline))"
        )
        #expect(watch.output.contains("35000 activities"))
    }
}
#endif
