#if DBus
import TestSupport

@testable import DesktopBackends
@testable import IndicatorCommands

/// `indicator watch` on a private bus, with apps that behave badly.
@Suite(.needs(.bus)) struct IndicatorWatcherTests {
    private static let (path, interface) = (DBusPropertyObject.path, DBusPropertyObject.interface)

    /// An app with these answers.
    private func app(
        _ name: String,
        _ bus: PrivateBus,
        _ answer: @escaping @Sendable (BusMessage) -> [BusMessage?]
    ) throws -> BusPeer {
        let name = IndicatorBusName.prefix + name
        return try BusPeer(name: name, path: Self.path, address: bus.address, answer: answer)
    }

    /// Calls a method of such an app, again and again.
    private func call(_ member: String, of name: String, _ bus: PrivateBus, times: Int) throws {
        let caller = try BlockingBus(address: bus.address)
        let name = IndicatorBusName.prefix + name
        for _ in 0..<times {
            let call = BusMessage.call(name, path: Self.path, interface: Self.interface, member: member)
            _ = try caller.call(call, timeLimit: .seconds(60))
        }
    }

    private static func changed(_ properties: [BusProperty], invalidated: [String] = []) -> BusMessage {
        let arguments = [.string(interface), .properties(properties), BusValue.strings(invalidated)]
        return .signal(path: path, interface: BusObject.propertiesInterface, member: "PropertiesChanged", arguments)
    }

    private static func active(_ number: UInt32, _ label: String) -> [BusProperty] {
        [
            BusProperty("State", .string("active")), BusProperty("ActivityCount", .uint32(number)),
            BusProperty("Label", .string(label)),
        ]
    }

    @Test func `An app that is stopped holds up no other, is reported, and appears when it continues`() async throws {
        let bus = try await PrivateBus()
        // The first one is `probe` on the bus.
        let stopped = try await DesktopProbe(on: bus)
        let other = try await DesktopProbe(on: bus)
        try await other.tell("begin", "Indexing") { try await bus.watchOnce().contains("Indexing") }
        Foundation.kill(stopped.processID, SIGSTOP)
        let (lines, panel) = (try bus.watch(), try bus.watch("--format", "text"))
        #expect(await lines.prints("appeared: shown, 1 activity, 'Indexing'\n"))
        #expect(await eventually { panel.output == "probe: Indexing\n" })
        #expect(await lines.prints("probe broken: it does not answer\n"))
        Foundation.kill(stopped.processID, SIGCONT)
        #expect(await lines.prints("probe appeared: hidden\n"))
        try await stopped.tell("begin", "Fetching") { panel.output.hasSuffix("probe: Indexing · probe: Fetching\n") }
    }

    @Test
    func `A change that is only announced is read (PropertiesChanged with invalidated properties)`() async throws {
        let bus = try await PrivateBus()
        let count = Locked(0)
        let peer = try app("lazy", bus) { call in
            guard call.member == "Change" else {
                let properties = Self.active(0, count.withLock { "Step \($0)" })
                return [call.reply([.properties(properties)])]
            }
            count.withLock { $0 += 1 }
            return [Self.changed([], invalidated: ["Label"]), call.reply([])]
        }
        let watch = try bus.watch()
        #expect(await eventually { watch.output.hasSuffix("lazy appeared: hidden, 'Step 0'\n") })
        try call("Change", of: "lazy", bus, times: 100)
        #expect(await eventually { watch.output.hasSuffix("lazy changed: hidden, 'Step 100'\n") })
        withExtendedLifetime(peer) {}
    }

    @Test("A state with wrong types, an unknown state, a megabyte, or no answer is shown as such, beside others")
    func brokenStates() async throws {
        let bus = try await PrivateBus()
        let long = String(repeating: "x", count: 1_000_000)
        let states: [(properties: [BusProperty], line: String)] = [
            ([BusProperty("Visible", .string("yes"))], "broken: its property 'Visible' has another type"),
            ([BusProperty("State", .string("da\u{1B}[2J"))], "broken: its state is 'da[2J', which is not known"),
            ([], "broken: its state is '', which is not known"),
            (Self.active(0, long), "appeared: hidden, '\(long.prefix(255))…'"),
            (Self.active(3, "\u{1B}]0;x\u{7}y"), "appeared: hidden, 3 activities, ']0;xy'"),
        ]
        let peers = try states.enumerated().map { number, state in
            try app("app\(number)", bus) { [$0.reply([.properties(state.properties)])] }
        }
        let mute = try app("mute", bus) { _ in [] }
        let watch = try bus.watch()
        let lines = states.enumerated().map { "app\($0) \($1.line)" } + ["mute broken: it does not answer"]
        for line in lines { #expect(await watch.prints(line + "\n"), "\(line) \(watch.output)") }
        // On a busy machine, another one may answer late, too.
        let others = watch.output.split(separator: "\n").filter { !lines.contains(String($0)) }
        #expect(others.allSatisfy { $0.hasSuffix(" broken: it does not answer") }, "\(others)")
        #expect(!watch.output.contains("\u{1B}"))
        let counts = "0 shown, 2 hidden, 4 broken; 3 in progress, 0 failed\n"
        #expect(try await eventually { try await bus.watchOnce().hasSuffix(counts) })
        withExtendedLifetime((peers, mute)) {}
    }

    @Test func `watch with a blocked output keeps little, and then prints the latest state`() async throws {
        let bus = try await PrivateBus()
        let count = Locked(UInt32(0))
        let label = String(repeating: "x", count: 1000)
        let peer = try app("flood", bus) { call in
            guard call.member == "Flood" else { return [call.reply([.properties(Self.active(0, label))])] }
            let last = count.withLock { count in
                count += 1000
                return count
            }
            return (last - 999...last).map { Self.changed(Self.active($0, "\($0) \(label)")) } + [call.reply([])]
        }
        // Its output is a pipe that is read after a line of input.
        let script = #"exec 3<&0; sh -c 'echo $$ >&2; exec "$0" watch --bus "$1"' "$@" | { read line <&3; exec cat; }"#
        let watch = try Daemon("sh", ["-c", script, "sh", try Command.built("indicator"), bus.address])
        #expect(await watch.complains("\n"))
        let process = try #require(Int32(watch.errors.dropLast()))
        /// Returns when the program has received everything: it then reads an indicator that has appeared.
        func received(_ name: String) async throws {
            let late = try app(name, bus) { [$0.reply([.properties(Self.active(0, label))])] }
            #expect(await eventually { !late.calls.isEmpty })
        }
        try await received("first")
        try call("Flood", of: "flood", bus, times: 5)
        let before = try peakMemory(of: process)
        try call("Flood", of: "flood", bus, times: 30)
        try await received("second")
        #expect(try peakMemory(of: process) - before < 8_000)
        #expect(watch.output == "")
        watch.write("")
        #expect(await eventually { watch.output.contains("35000 activities") }, "\(watch.errors)")
        // Most changes were replaced by later ones.
        #expect(watch.output.count(where: \.isNewline) < 35_000)
        withExtendedLifetime(peer) {}
    }
}
#endif
