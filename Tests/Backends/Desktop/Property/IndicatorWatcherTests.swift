#if DBus
import TestSupport

@testable import DesktopBackends
@testable import IndicatorCommands

/// `indicator watch` on a private bus, with apps that behave badly.
@Suite(.needs(.bus)) struct IndicatorWatcherTests {
    private func property(_ number: Int) -> [BusProperty] {
        [BusProperty("ActivityCount", .uint32(UInt32(number))), BusProperty("State", .string("active"))]
    }

    /// An app whose properties are `properties`.
    private func app(
        _ name: String,
        _ bus: PrivateBus,
        _ answer: @escaping @Sendable (BusMessage) -> [BusMessage?]
    ) throws -> BusPeer {
        let name = IndicatorBusName.prefix + name
        return try BusPeer(name: name, path: DBusPropertyObject.path, address: bus.address, answer: answer)
    }

    private static func changed(_ properties: BusValue, invalidated: [String] = []) -> BusMessage {
        let arguments = [.string(DBusPropertyObject.interface), properties, .strings(invalidated)]
        let (path, interface) = (DBusPropertyObject.path, BusObject.propertiesInterface)
        return .signal(path: path, interface: interface, member: "PropertiesChanged", arguments)
    }

    @Test func `An app that is stopped holds up no other, is reported, and appears when it continues`() async throws {
        let bus = try await PrivateBus()
        // The first one is `probe` on the bus.
        let stopped = try await DesktopProbe(on: bus)
        let other = try await DesktopProbe(on: bus)
        try await other.tell("begin", "Indexing")
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
        let peer = try app("lazy", bus) { message in
            guard message.member == "Change" else {
                let label = count.withLock { "Step \($0)" }
                let properties = [BusProperty("State", .string("active")), BusProperty("Label", .string(label))]
                return [message.reply([.properties(properties)])]
            }
            count.withLock { $0 += 1 }
            return [Self.changed(.properties([]), invalidated: ["Label"]), message.reply([])]
        }
        defer { withExtendedLifetime(peer) {} }
        let watch = try bus.watch()
        #expect(await eventually { watch.output == "lazy appeared: hidden, 'Step 0'\n" })
        let (path, interface) = (DBusPropertyObject.path, DBusPropertyObject.interface)
        let name = IndicatorBusName.prefix + "lazy"
        let caller = try BlockingBus(address: bus.address)
        for _ in 0..<100 { _ = try caller.call(.call(name, path: path, interface: interface, member: "Change")) }
        #expect(await eventually { watch.output.hasSuffix("lazy changed: hidden, 'Step 100'\n") })
    }

    @Test("A state with wrong types, an unknown state, a megabyte, or no answer is shown as such, beside others")
    func brokenStates() async throws {
        let bus = try await PrivateBus()
        let long = String(repeating: "x", count: 1_000_000)
        let states: [(name: String, properties: [BusProperty], line: String)] = [
            ("a", [BusProperty("Visible", .string("yes"))], "a broken: its property 'Visible' has another type"),
            (
                "b", [BusProperty("State", .string("dancing\u{1B}[2J"))],
                "b broken: its state is 'dancing[2J', which is not known"
            ),
            (
                "c", [BusProperty("State", .string("active")), BusProperty("Label", .string(long))],
                "c appeared: hidden, '\(long.prefix(255))…'"
            ),
            ("d", [], "d broken: its state is '', which is not known"),
            (
                "e", [BusProperty("Label", .string("\u{1B}]0;x\u{7}y"))] + property(3),
                "e appeared: hidden, 3 activities, ']0;xy'"
            ),
        ]
        let peers = try states.map { state in
            try app(state.name, bus) { [$0.reply([.properties(state.properties)])] }
        }
        let mute = try app("f", bus) { _ in [] }
        defer { withExtendedLifetime((peers, mute)) {} }
        let watch = try bus.watch()
        let lines = states.map(\.line) + ["f broken: it does not answer"]
        for line in lines {
            #expect(await eventually { watch.output.contains(line + "\n") }, "\(line) \(watch.output)")
        }
        // On a busy machine, another one may answer late, too.
        let others = watch.output.split(separator: "\n").filter { !lines.contains(String($0)) }
        #expect(others.allSatisfy { $0.hasSuffix(" broken: it does not answer") }, "\(others)")
        #expect(!watch.output.contains("\u{1B}"))
        let table = try await bus.watchOnce()
        #expect(table.hasSuffix("0 shown, 2 hidden, 4 broken; 3 in progress, 0 failed\n"))
    }

    @Test(arguments: ["text", "waybar", "table"])
    func `It ends when its reader has, though nothing happens on the bus`(format: String) async throws {
        let bus = try await PrivateBus()
        let command = "'\(try Command.built("indicator"))' watch --bus '\(bus.address)' --format \(format) | head -n 1"
        let shell = try Daemon("sh", ["-c", command])
        // The shell waits for both.
        #expect(await shell.ends())
        #expect(shell.output.count(where: \.isNewline) == 1)
    }

    @Test func `watch with a blocked output keeps little, and then prints the latest state`() async throws {
        let bus = try await PrivateBus()
        let count = Locked(UInt32(0))
        let label = String(repeating: "x", count: 1000)
        @Sendable func properties(_ number: UInt32) -> BusValue {
            .properties(property(Int(number)) + [BusProperty("Label", .string("\(number) \(label)"))])
        }
        let name = IndicatorBusName.prefix + "flood"
        let peer = try app("flood", bus) { message in
            guard message.member == "Flood" else { return [message.reply([properties(0)])] }
            let last = count.withLock { count in
                count += 1000
                return count
            }
            return (last - 999...last).map { Self.changed(properties($0)) } + [message.reply([])]
        }
        defer { withExtendedLifetime(peer) {} }
        // Its output is a pipe that is read after a line of input.
        let script = #"exec 3<&0; sh -c 'echo $$ >&2; exec "$0" watch --bus "$1"' "$@" | { read line <&3; exec cat; }"#
        let watch = try Daemon("sh", ["-c", script, "sh", try Command.built("indicator"), bus.address])
        #expect(await watch.complains("\n"))
        let process = try #require(Int32(watch.errors.dropLast()))
        let caller = try BlockingBus(address: bus.address)
        func flood(_ times: Int) throws {
            let (path, interface) = (DBusPropertyObject.path, DBusPropertyObject.interface)
            for _ in 0..<times {
                let call = BusMessage.call(name, path: path, interface: interface, member: "Flood")
                _ = try caller.call(call, timeLimit: .seconds(60))
            }
        }
        /// Returns when the program has received everything: it then reads an indicator that has appeared.
        func received(_ name: String) async throws {
            let isRead = Locked(false)
            let late = try app(name, bus) { message in
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
        #expect(await eventually { watch.output.contains("35000 activities") }, "\(watch.errors)")
        // Most changes were replaced by later ones.
        #expect(watch.output.count(where: \.isNewline) < 35_000)
    }
}
#endif
