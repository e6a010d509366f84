#if MQTT
import TestSupport

@testable import IndicatorMQTT

/// How a watcher processes messages, without a broker and on a manual clock.
@Suite struct MQTTRosterTests {
    private let topic = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "i")
    private let other = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "j")
    private let start = ContinuousClock.now
    private var roster = MQTTRoster(prefix: "p")
    /// The seconds in a script.
    private var now = 0

    private mutating func receive(
        _ payload: String,
        topic: String? = nil,
        isRetained: Bool = false,
        expiry: UInt32? = nil,
        after seconds: Int = 0
    ) -> MQTTRoster.Event? {
        Array(payload.utf8).withUnsafeBytes { bytes in
            let topic = topic ?? self.topic.state
            let message = MQTTClient.Message(topic: topic, payload: bytes, isRetained: isRetained, expiry: expiry)
            return roster.receive(message, at: start + .seconds(seconds))
        }
    }

    private func state(_ state: String = "active", epoch: Int, seq: Int) -> String {
        #"{"state":"\#(state)","visible":true,"count":1,"epoch":\#(epoch),"seq":\#(seq)}"#
    }

    private func name(_ event: MQTTRoster.Event?) -> String {
        event.map { "\($0)".prefix { $0 != "(" } }.map(String.init) ?? "nothing"
    }

    /// What happens, step by step, and the events after the colon. `1.2` is the state with epoch 1 and number 2,
    /// `will 1` the will of epoch 1, `gone` and `no will` are their removals; `j` is another indicator; `retained`,
    /// `age=` (of its expiry) and `refresh=` are properties of messages. `@9` advances to 9 s as a watcher does, at
    /// least every second, `jump @9` at once, as after a sleep. `connect @9` is a new connection, `gaps` what was
    /// dropped by the broker; `count` and `lost` are the numbers of indicators.
    private static let table: Table = """
        A life is followed
            1.1: appeared | 1.2 | 1.3 inactive: changed | 1.2 | will 1 | @9 | @10: lost | will 1 | 2.1: appeared
            no will | gone: vanished | gone | count 0
        A late death does not overrule a new birth
            2.1: appeared | will 1 | @20 | lost 0
        An indicator whose will arrives first appears: messages of different topics have no order
            will 1 | 2.1: appeared
        An indicator of which only the will arrived did not vanish
            will 1 | no will | count 0
        A process that reconnects within ten seconds is not lost
            1.1: appeared | will 1 | @9 | 2.1 | @30
        A retained will is reported at once, before the last state
            will 1 retained: lost | 1.7 retained | lost 1 | 2.1: appeared
        A retained will is reported at once, after the last state
            1.7 retained: appeared | will 1 retained: lost | lost 1 | 2.1: appeared
        A ghost is lost until it is forgotten
            will 1 retained: lost | lost 1 | no will: vanished | lost 0
        An indicator that is silent for too long is lost
            1.1: appeared | @600 | 1.2 | @1500 | @1501: lost | @1600 | 1.3: appeared
        While a watcher sleeps, no indicator is silent
            1.1: appeared | @800 | jump @1700 | @1800 | @1801: lost
        Without a connection, no indicator is silent
            1.1: appeared | @800 | connect @1700 | @2600 | @2601: vanished
        An indicator is silent for too long after 1.5 times the interval that its state has
            1.1 refresh=60 retained age=91: lost | j 1.1 refresh=60: appeared j | @90 | @91: lost j
        The age of a retained state follows from its remaining expiry, not from any clock
            1.9 retained age=800: appeared | j 1.9 retained age=901: lost j | @100 | @101: lost
        After a reconnection, an indicator that the broker no longer has is reported as vanished
            1.1: appeared | j 1.1: appeared j | connect @0 | 1.1 retained age=0 | jump @3: vanished j
            jump @4 | count 1
        After a reconnection, what the broker has dropped does not count as vanished
            1.1: appeared | j 1.1: appeared j | connect @0 | 1.1 retained age=0 | gaps | jump @3
            connect @3 | 1.1 retained age=0 | jump @6: vanished j
        After a broker restart without persistence, indicators vanish only if they stay silent
            1.1: appeared | j 1.1: appeared j | connect @0 | 2.1 retained age=0 | jump @3 | count 2
            @600 | 2.2 | @900 | @901: vanished j | count 1
        """

    @Test(arguments: table)
    mutating func `A roster follows its messages`(sentence: String, script: String) {
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let parts = step.split(separator: ":").map { $0.trimmingCharacters(in: .whitespaces) }
            let events = perform(parts[0].split(separator: " "))
            let names = events.map { name($0) + ("\($0)".contains(#"instance: "j""#) ? " j" : "") }
            #expect(names.joined(separator: ", ") == (parts.count > 1 ? parts[1] : ""), "\(sentence): \(step)")
        }
        #expect(roster.ignoredCount == 0)
    }

    private mutating func perform(_ words: [Substring]) -> [MQTTRoster.Event] {
        let number = words.last.flatMap { Int($0.drop { $0 == "@" }) } ?? 0
        func value(_ key: String) -> Int? { words.first { $0.hasPrefix(key) }.flatMap { Int($0.dropFirst(key.count)) } }
        defer { if words.last?.first == "@" { now = number } }
        switch words[0] {
        case "gaps": roster.hasGaps = true
        case "count": #expect(roster.count == number)
        case "lost": #expect(roster.lost.count == number)
        case "connect": roster.connected(at: start + .seconds(number))
        case "jump": return roster.advance(to: start + .seconds(number))
        case let word where word.hasPrefix("@"):
            return (now...number).flatMap { roster.advance(to: start + .seconds($0)) }
        default:
            let topic = words[0] == "j" ? other : topic
            let version = words.first { $0.contains(".") }?.split(separator: ".").compactMap { Int($0) }
            let name = words.contains("inactive") ? "inactive" : "active"
            var payload = version.map { state(name, epoch: $0[0], seq: $0[1]) }
            if let refresh = value("refresh=") { payload = payload?.replacing("}", with: #","refresh":\#(refresh)}"#) }
            let isWill = words.contains("will")
            if isWill, words[0] != "no" {
                payload = #"{"epoch":\#(words.compactMap { Int($0) }.first ?? 1),"state":"lost"}"#
            }
            let expiry = value("age=").map { UInt32(3 * (value("refresh=") ?? 600) - $0) }
            let event = receive(
                payload ?? "",
                topic: isWill ? topic.lost : topic.state,
                isRetained: words.contains("retained"),
                expiry: expiry,
                after: now
            )
            return [event].compactMap(\.self)
        }
        return []
    }

    @Test mutating func `The memory for reports is limited in bytes; what exceeds it has a count of its own`() {
        roster = MQTTRoster(prefix: "p", memoryLimit: 10_000)
        let label = String(repeating: "x", count: 256)
        let report = state(epoch: 1, seq: 1).replacing("}", with: #","label":"\#(label)"}"#)
        for number in 0..<1000 { _ = receive(report, topic: "p/h/a/\(number)") }
        #expect((5...20).contains(roster.count))
        #expect((roster.excessCount, roster.ignoredCount) == (1000 - roster.count, 0))
        // What is removed makes room.
        let count = roster.count
        for (payload, event) in [("", "vanished"), (report, "appeared")] {
            for number in 0..<count { #expect(name(receive(payload, topic: "p/h/a/\(number)")) == event) }
        }
    }

    @Test mutating func `Silent indicators are looked for once a second, not after each message`() {
        _ = receive(state(epoch: 1, seq: 1))
        _ = receive(state(epoch: 1, seq: 1), topic: other.state, after: 1)
        for number in 0...900 { #expect(roster.advance(to: start + .milliseconds(1000 * number - 100)).isEmpty) }
        // The first one is now silent for more than 15 minutes, then the other one.
        for (time, names) in [(900_800, []), (900_900, ["lost"]), (901_800, []), (901_900, ["lost"])] {
            #expect(roster.advance(to: start + .milliseconds(time)).map(name) == names)
        }
    }

    @Test mutating func `Topics are compared byte by byte, as the broker does`() {
        for topic in ["p/caf\u{E9}/a/i", "p/cafe\u{301}/a/i"] {
            #expect(name(receive(state(epoch: 1, seq: 1), topic: topic)) == "appeared")
        }
        #expect(name(receive("", topic: "p/cafe\u{301}/a/i")) == "vanished")
        #expect(roster.count == 1)
        let topics = ["caf\u{E9}", "cafe\u{301}"].map { MQTTTopic(prefix: "p", host: $0, app: "a", instance: "i") }
        #expect(topics[0] != topics[1])  // A dictionary compares them although their hash values differ.
    }

    @Test(
        "A state that cannot be read is reported as such, once, and does not hide that of another",
        arguments: [
            ("hello", "it is not JSON"), ("{}", "it has no 'state'"), ("[]", "it is not an object"),
            ("null", "it is not an object"), (#"{"state":"active"}"#, "it has no 'epoch'"),
            ("\u{0}", "it is not JSON"), ("MANY", "it is not JSON"),
            (#"{"state":"dan\u001bcing","epoch":1}"#, "its state is 'dancing', which is not known"),
            (#"{"state":"lost","epoch":1}"#, "its state is that of a will"),
            (#"{"state":1,"epoch":1}"#, "its 'state' has another type"),
            (#"{"state":"active","epoch":1,"label":[]}"#, "its 'label' has another type"),
            (#"{"state":"active","epoch":1,"label":"MANYMANY"}"#, "it is longer than 65536 bytes"),
        ]
            + [
                #""epoch":NaN"#, #""epoch":1,"progress":NaN"#, #""epoch":1,"count":1e400"#,
                #""epoch":1,"progress":1e400"#,
            ].map { (#"{"state":"active",\#($0)}"#, "it is not JSON") }
            + [
                #""epoch":1.5"#, #""epoch":9223372036854775808"#, #""epoch":1e99"#,
                #""epoch":0"#, #""epoch":-1"#, #""epoch":1,"seq":0"#, #""epoch":1,"count":-5"#,
                #""epoch":1,"progress":7"#, #""epoch":1,"progress":-0.1"#,
                #""epoch":1,"activities":[{"label":"x","since":"","progress":2}]"#,
            ].map { (#"{"state":"active",\#($0)}"#, "it has a number that is out of range") }
    )
    mutating func broken(text: String, problem: String) {
        let payload = text.replacing("MANY", with: String(repeating: "[", count: 60_000))
        let event = receive(payload)
        #expect(event == .broken(topic, problem: problem))
        #expect(receive(payload) == nil)
        #expect(name(receive(state(epoch: 1, seq: 1), topic: other.state)) == "appeared")
        // It is neither lost after a time, nor to be forgotten.
        let events = (0...901).flatMap { roster.advance(to: start + .seconds($0)) }
        #expect(events.map(name) == ["lost"] && roster.lost == [other])
        #expect(name(receive(state(epoch: 1, seq: 1))) == "appeared")
        #expect(receive(payload) == event)
        #expect(name(receive("")) == "vanished")
        #expect((roster.ignoredCount, roster.count) == (0, 1))
    }

    @Test(
        "Finished activities that no indicator sends are ignored and counted, and so is what is no state",
        arguments: [
            #""seconds":-1,"outcome":"failed""#, #""seconds":NaN,"outcome":"failed""#,
            #""seconds":1e400,"outcome":"failed""#, #""seconds":1,"outcome":"exploded""#, #""outcome":"failed""#,
            #""seconds":1"#,
        ].map { #"{"epoch":1,"omitted":1,"finished":[{"label":"x",\#($0)}]}"# } + [
            #"{"epoch":1,"omitted":-1,"finished":[{"label":"x","seconds":1,"outcome":"failed"}]}"#,
            #"{"epoch":1,"finished":[{"outcome":"failed","seconds":1}]}"#,
            #"{"epoch":1,"finished":[{"label":1,"outcome":"failed","seconds":1}]}"#, #"{"finished":[]}"#,
            #"{"epoch":1}"#, #"{"epoch":1,"finished":null}"#, #"{"epoch":1,"finished":{}}"#,
            #"{"epoch":1,"finished":[]}{}"#, #"{"epoch":1,"finished":[]"#, #"{"epoch":1.5,"finished":[]}"#, "{}",
            "hello", #"{"state":"active","visible":true,"count":1,"epoch":1,"seq":1}"#,
        ]
    )
    mutating func ignored(payload: String) {
        for topic in [topic.events, topic.lost, "p/h/a/i/more/levels"] {
            #expect(receive(payload, topic: topic) == nil)
        }
        #expect((roster.ignoredCount, roster.count) == (3, 0))
        let finished = [#"{"label":"x","seconds":1,"outcome":"failed"}"#, ""].map {
            #"{"epoch":1,"finished":[\#($0)]}"#
        }
        for payload in finished { #expect(name(receive(payload, topic: topic.events)) == "finished") }
    }

    @Test mutating func `The numbers at the ends of their ranges are accepted`() {
        let state = #"{"state":"active","epoch":9223372036854775807,"count":9223372036854775807,"#
        #expect(name(receive(state + #""seq":1,"progress":0}"#)) == "appeared")
        #expect(name(receive(state + #""seq":2,"progress":1}"#)) == "changed")
    }

    @Test mutating func `Long texts and lists are truncated, and members that are unknown are skipped`() throws {
        let long = String(repeating: "x", count: 1000)
        let activity = #"""
            {"x":[1,{}],"label":"\#(long)","since":"\#(long)","outcome":"failed","message":"\#(long)\u0007\n",\#
            "seconds":1.5e0}
            """#
        let activities = Array(repeating: activity, count: 20).joined(separator: ",")
        let state = #"{"state":"active","epoch":1,"new":null,"label":"\#(long)","activities":[\#(activities)]}"#
        let appeared = receive(state)
        guard case .appeared(_, let report)? = appeared else { return _ = Issue.record("\(name(appeared))") }
        #expect(report.label?.count == 256 && report.activities?.count == 16)
        #expect(report.activities?.first?.label.count == 256 && report.activities?.first?.since.count == 256)
        let payload = #" {"finished":[\#(activity),\#(activity)],"new":null,"omitted":null,"epoch":1} "#
        let finished = receive(payload, topic: topic.events)
        guard case .finished(_, let events)? = finished else { return _ = Issue.record("\(name(finished))") }
        #expect(events.finished.count == 2 && events.epoch == 1 && events.omitted == nil)
        #expect(events.finished[0].label.count == 256 && events.finished[0].message?.count == 256)
        #expect(events.finished[0].seconds == 1.5)
    }
}
#endif
