#if MQTT
import Foundation
import IndicatorCore
import TestSupport
import Testing

@testable import IndicatorMQTT

/// How a watcher processes messages, without a broker and on a manual clock.
@Suite struct MQTTRosterTests {
    private let topic = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "i")
    private let start = ContinuousClock.now
    private let will = #"{"epoch":1,"state":"lost"}"#

    private func receive(
        _ roster: inout MQTTRoster,
        _ payload: String,
        topic: String? = nil,
        isRetained: Bool = false,
        expiry: UInt32? = nil,
        after seconds: Int = 0
    ) -> MQTTRoster.Event? {
        Array(payload.utf8).withUnsafeBytes { bytes in
            roster.receive(
                MQTTClient.Message(
                    topic: topic ?? self.topic.state,
                    payload: bytes,
                    isRetained: isRetained,
                    expiry: expiry
                ),
                at: start + .seconds(seconds)
            )
        }
    }

    /// Advances to a time as a watcher does, at least every second.
    private func advance(_ roster: inout MQTTRoster, from first: Int = 0, to seconds: Double) -> [MQTTRoster.Event] {
        var events: [MQTTRoster.Event] = []
        for second in first..<Int(seconds) { events += roster.advance(to: start + .seconds(second)) }
        return events + roster.advance(to: start + .seconds(seconds))
    }

    private func state(_ state: String = "active", epoch: Int, seq: Int) -> String {
        #"{"state":"\#(state)","visible":true,"count":1,"epoch":\#(epoch),"seq":\#(seq)}"#
    }

    private func name(_ event: MQTTRoster.Event?) -> String {
        event.map { "\($0)".prefix { $0 != "(" } }.map(String.init) ?? "nothing"
    }

    @Test func `A life is followed`() {
        var roster = MQTTRoster(prefix: "p")
        #expect(name(receive(&roster, state(epoch: 1, seq: 1))) == "appeared")
        #expect(name(receive(&roster, state(epoch: 1, seq: 2))) == "nothing")
        #expect(name(receive(&roster, state("inactive", epoch: 1, seq: 3))) == "changed")
        #expect(name(receive(&roster, state(epoch: 1, seq: 2))) == "nothing", "it is older")
        #expect(name(receive(&roster, will, topic: topic.lost)) == "nothing", "it may return within 10 s")
        #expect(advance(&roster, to: 9).isEmpty)
        #expect(advance(&roster, from: 9, to: 10).map(name) == ["lost"])
        #expect(name(receive(&roster, will, topic: topic.lost)) == "nothing")
        #expect(name(receive(&roster, state(epoch: 2, seq: 1))) == "appeared")
        #expect(name(receive(&roster, "", topic: topic.lost)) == "nothing")
        #expect(name(receive(&roster, "")) == "vanished")
        #expect(name(receive(&roster, "")) == "nothing")
        #expect(roster.count == 0)
        #expect(roster.ignoredCount == 0)
    }

    @Test func `A late death does not overrule a new birth`() {
        var roster = MQTTRoster(prefix: "p")
        _ = receive(&roster, state(epoch: 2, seq: 1))
        #expect(name(receive(&roster, will, topic: topic.lost)) == "nothing")
        #expect(advance(&roster, to: 20).isEmpty)
        #expect(roster.lost.isEmpty)
    }

    /// Messages of different topics have no order.
    @Test func `An indicator whose will arrives first appears and did not vanish`() {
        var roster = MQTTRoster(prefix: "p")
        #expect(name(receive(&roster, will, topic: topic.lost)) == "nothing")
        #expect(name(receive(&roster, state(epoch: 2, seq: 1))) == "appeared")
        var other = MQTTRoster(prefix: "p")
        #expect(name(receive(&other, will, topic: topic.lost)) == "nothing")
        #expect(name(receive(&other, "", topic: topic.lost)) == "nothing")
        #expect(other.count == 0)
    }

    @Test
    func `A process that reconnects within ten seconds, to another node, is not lost`() {
        var roster = MQTTRoster(prefix: "p")
        _ = receive(&roster, state(epoch: 1, seq: 1))
        _ = receive(&roster, will, topic: topic.lost)
        #expect(advance(&roster, to: 9).isEmpty)
        #expect(name(receive(&roster, state(epoch: 2, seq: 1), after: 9)) == "nothing", "it is unchanged")
        #expect(advance(&roster, from: 9, to: 30).isEmpty)
    }

    @Test
    func `A retained will is reported at once, whether it arrives before the last state or after it`() {
        for isFirst in [true, false] {
            var roster = MQTTRoster(prefix: "p")
            var events: [String] = []
            for isWill in [isFirst, !isFirst] {
                let event =
                    isWill
                    ? receive(&roster, will, topic: topic.lost, isRetained: true)
                    : receive(&roster, state(epoch: 1, seq: 7), isRetained: true)
                events.append(name(event))
            }
            #expect(events == (isFirst ? ["lost", "nothing"] : ["appeared", "lost"]))
            #expect(roster.lost == [topic])
            // The process had reconnected.
            #expect(name(receive(&roster, state(epoch: 2, seq: 1))) == "appeared")
        }
    }

    @Test func `A ghost is lost until it is forgotten`() {
        var roster = MQTTRoster(prefix: "p")
        #expect(name(receive(&roster, will, topic: topic.lost, isRetained: true)) == "lost")
        #expect(roster.lost == [topic])
        #expect(name(receive(&roster, "", topic: topic.lost)) == "vanished")
        #expect(roster.lost.isEmpty)
    }

    @Test func `An indicator that is silent for too long is lost`() {
        var roster = MQTTRoster(prefix: "p")
        _ = receive(&roster, state(epoch: 1, seq: 1))
        _ = receive(&roster, state(epoch: 1, seq: 2), after: 600)
        #expect(advance(&roster, to: 1500).isEmpty)
        #expect(advance(&roster, from: 1501, to: 1501).map(name) == ["lost"])
        #expect(name(receive(&roster, state(epoch: 1, seq: 3), after: 1600)) == "appeared")
    }

    @Test
    func `While a watcher sleeps or has no connection, no indicator is silent`() {
        for sleeps in [true, false] {
            var roster = MQTTRoster(prefix: "p")
            _ = receive(&roster, state(epoch: 1, seq: 1))
            #expect(advance(&roster, to: 800).isEmpty)
            // Fifteen minutes later.
            if !sleeps { roster.connected(at: start + .seconds(1700)) }
            #expect(roster.advance(to: start + .seconds(1700)).isEmpty)
            #expect(advance(&roster, from: 1701, to: sleeps ? 1799 : 2599).isEmpty)
            #expect(!advance(&roster, from: 1800, to: 2602).isEmpty)
        }
    }

    @Test("An indicator is silent for too long after 1.5 times the interval that its state has")
    func refresh() {
        var roster = MQTTRoster(prefix: "p")
        let report = state(epoch: 1, seq: 1).replacing("}", with: #","refresh":60}"#)
        #expect(name(receive(&roster, report, isRetained: true, expiry: 180 - 91)) == "lost")
        let other = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "j")
        #expect(name(receive(&roster, report, topic: other.state)) == "appeared")
        #expect(advance(&roster, to: 90).isEmpty)
        #expect(advance(&roster, from: 91, to: 91).map(name) == ["lost"])
    }

    @Test("The memory for reports is limited in bytes; what exceeds it has a count of its own")
    func memory() {
        var roster = MQTTRoster(prefix: "p", memoryLimit: 10_000)
        let report = state(epoch: 1, seq: 1).replacing(
            "}",
            with: #","label":"\#(String(repeating: "x", count: 256))"}"#
        )
        func topic(_ number: Int) -> String { "p/h/a/\(number)" }
        for number in 0..<1000 { _ = receive(&roster, report, topic: topic(number)) }
        #expect((5...20).contains(roster.count))
        #expect((roster.excessCount, roster.ignoredCount) == (1000 - roster.count, 0))
        // What is removed makes room.
        let count = roster.count
        for number in 0..<count { #expect(name(receive(&roster, "", topic: topic(number))) == "vanished") }
        for number in 0..<count { #expect(name(receive(&roster, report, topic: topic(number))) == "appeared") }
    }

    @Test
    func `Silent indicators are looked for once a second, not after each message`() {
        var roster = MQTTRoster(prefix: "p")
        let other = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "j")
        _ = receive(&roster, state(epoch: 1, seq: 1))
        _ = receive(&roster, state(epoch: 1, seq: 1), topic: other.state, after: 1)
        for number in (0...900).reversed() {
            #expect(roster.advance(to: start + .seconds(899.9) - .seconds(number)).isEmpty)
        }
        // The first one has now been silent for more than 15 minutes, then the other one.
        #expect(roster.advance(to: start + .seconds(900.8)).isEmpty)
        #expect(roster.advance(to: start + .seconds(900.9)).map(name) == ["lost"])
        #expect(roster.advance(to: start + .seconds(901.8)).isEmpty)
        #expect(roster.advance(to: start + .seconds(901.9)).map(name) == ["lost"])
    }

    @Test("The age of a retained state follows from its remaining expiry, not from any clock")
    func age() {
        var roster = MQTTRoster(prefix: "p")
        let old: UInt32 = 1800 - 800
        #expect(name(receive(&roster, state(epoch: 1, seq: 9), isRetained: true, expiry: old)) == "appeared")
        #expect(advance(&roster, to: 101).map(name) == ["lost"])
        let other = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "j").state
        let older = UInt32(1800 - 901)
        #expect(
            name(receive(&roster, state(epoch: 1, seq: 9), topic: other, isRetained: true, expiry: older)) == "lost"
        )
    }

    @Test
    func `After a reconnection, an indicator that the broker no longer has is reported as vanished`() {
        var roster = MQTTRoster(prefix: "p")
        let other = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "j")
        _ = receive(&roster, state(epoch: 1, seq: 1))
        _ = receive(&roster, state(epoch: 1, seq: 1), topic: other.state)
        roster.connected(at: start)
        #expect(name(receive(&roster, state(epoch: 1, seq: 1), isRetained: true, expiry: 1800)) == "nothing")
        #expect(roster.advance(to: start + .seconds(3)) == [.vanished(other)])
        #expect(roster.advance(to: start + .seconds(4)) == [])
        #expect(roster.count == 1)
    }

    @Test
    func `After a reconnection, what the broker has dropped does not count as vanished`() {
        var roster = MQTTRoster(prefix: "p")
        let other = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "j")
        _ = receive(&roster, state(epoch: 1, seq: 1))
        _ = receive(&roster, state(epoch: 1, seq: 1), topic: other.state)
        for hasGaps in [true, false] {
            roster.connected(at: start)
            #expect(name(receive(&roster, state(epoch: 1, seq: 1), isRetained: true, expiry: 1800)) == "nothing")
            roster.hasGaps = hasGaps
            #expect(roster.advance(to: start + .seconds(3)) == (hasGaps ? [] : [.vanished(other)]))
        }
    }

    @Test
    func `After a broker restart without persistence, indicators vanish only if they stay silent`() {
        var roster = MQTTRoster(prefix: "p")
        let other = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "j")
        _ = receive(&roster, state(epoch: 1, seq: 1))
        _ = receive(&roster, state(epoch: 1, seq: 1), topic: other.state)
        roster.connected(at: start)
        // It has reconnected.
        #expect(name(receive(&roster, state(epoch: 2, seq: 1), isRetained: true, expiry: 1800)) == "nothing")
        #expect(roster.advance(to: start + .seconds(3)) == [])
        #expect(roster.count == 2)
        // The broker would have reported its death.
        _ = receive(&roster, state(epoch: 2, seq: 2), after: 600)
        #expect(advance(&roster, from: 4, to: 901) == [.vanished(other)])
        #expect(roster.count == 1)
    }

    @Test
    func `Long texts and lists in a report are truncated`() throws {
        var roster = MQTTRoster(prefix: "p")
        let long = String(repeating: "x", count: 1000)
        let activity = #"{"label":"\#(long)","since":"\#(long)"}"#
        let activities = Array(repeating: activity, count: 20).joined(separator: ",")
        let event = receive(&roster, #"{"state":"active","epoch":1,"label":"\#(long)","activities":[\#(activities)]}"#)
        guard case .appeared(_, let report)? = event else {
            Issue.record("\(name(event))")
            return
        }
        #expect(report.label?.count == 256 && report.activities?.count == 16)
        #expect(report.activities?.first?.label.count == 256 && report.activities?.first?.since.count == 256)
    }

    @Test("Topics are compared byte by byte, as the broker does")
    func bytes() {
        var roster = MQTTRoster(prefix: "p")
        #expect(name(receive(&roster, state(epoch: 1, seq: 1), topic: "p/caf\u{E9}/a/i")) == "appeared")
        #expect(name(receive(&roster, state(epoch: 1, seq: 1), topic: "p/cafe\u{301}/a/i")) == "appeared")
        #expect(name(receive(&roster, "", topic: "p/cafe\u{301}/a/i")) == "vanished")
        #expect(roster.count == 1)
    }

    @Test(
        "A state that cannot be read is reported as such, once, and does not hide that of another",
        arguments: [
            ("hello", "it is not JSON"), ("{}", "it has no 'state'"), ("[]", "it is not an object"),
            ("null", "it is not an object"), (#"{"state":"active"}"#, "it has no 'epoch'"),
            ("\u{0}", "it is not JSON"), (String(repeating: "[", count: 60000), "it is not JSON"),
            (#"{"state":"dan\u001bcing","epoch":1}"#, "its state is 'dancing', which is not known"),
            (#"{"state":"lost","epoch":1}"#, "its state is that of a will"),
            (#"{"state":1,"epoch":1}"#, "its 'state' has another type"),
            (#"{"state":"active","epoch":1,"label":[]}"#, "its 'label' has another type"),
            (
                #"{"state":"active","epoch":1,"label":""# + String(repeating: "x", count: 70000) + #""}"#,
                "it is longer than 65536 bytes"
            ),
        ]
    )
    func broken(payload: String, problem: String) {
        var roster = MQTTRoster(prefix: "p")
        let other = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "j")
        #expect(receive(&roster, payload) == .broken(topic, problem: problem))
        #expect(receive(&roster, payload) == nil)
        #expect(name(receive(&roster, state(epoch: 1, seq: 1), topic: other.state)) == "appeared")
        // It is neither lost after a time, nor to be forgotten.
        #expect(advance(&roster, to: 901).map(name) == ["lost"] && roster.lost == [other])
        #expect(name(receive(&roster, state(epoch: 1, seq: 1))) == "appeared")
        #expect(receive(&roster, payload) == .broken(topic, problem: problem))
        #expect(name(receive(&roster, "")) == "vanished")
        #expect((roster.ignoredCount, roster.count) == (0, 1))
    }

    @Test func `What is no state is ignored and counted`() {
        var roster = MQTTRoster(prefix: "p")
        #expect(name(receive(&roster, state(epoch: 1, seq: 1), topic: "p/h/a/i/more/levels")) == "nothing")
        for payload in ["{}", "hello", state(epoch: 1, seq: 1)] {
            #expect(name(receive(&roster, payload, topic: topic.events)) == "nothing")
            #expect(name(receive(&roster, payload, topic: topic.lost)) == "nothing")
        }
        #expect((roster.ignoredCount, roster.count) == (7, 0))
    }

    @Test(
        "Numbers that no indicator sends are reported",
        arguments: [
            #""epoch":0"#, #""epoch":-1"#, #""epoch":1.5"#, #""epoch":9223372036854775808"#, #""epoch":NaN"#,
            #""epoch":1e99"#, #""epoch":1,"seq":0"#, #""epoch":1,"count":-5"#, #""epoch":1,"count":1e400"#,
            #""epoch":1,"progress":7"#, #""epoch":1,"progress":-0.1"#, #""epoch":1,"progress":NaN"#,
            #""epoch":1,"progress":1e400"#, #""epoch":1,"activities":[{"label":"x","since":"","progress":2}]"#,
        ]
    )
    func numbers(text: String) {
        var roster = MQTTRoster(prefix: "p")
        #expect(name(receive(&roster, #"{"state":"active",\#(text)}"#)) == "broken")
    }

    @Test(
        "Finished activities with numbers or outcomes that no indicator sends are ignored and counted",
        arguments: [
            #""seconds":-1,"outcome":"failed""#, #""seconds":NaN,"outcome":"failed""#,
            #""seconds":1e400,"outcome":"failed""#, #""seconds":1,"outcome":"exploded""#,
        ]
    )
    func finishedNumbers(text: String) {
        var roster = MQTTRoster(prefix: "p")
        func events(_ text: String, omitted: Int) -> String {
            #"{"epoch":1,"omitted":\#(omitted),"finished":[{"label":"x",\#(text)}]}"#
        }
        #expect(name(receive(&roster, events(text, omitted: 1), topic: topic.events)) == "nothing")
        let right = #""seconds":1,"outcome":"failed""#
        #expect(name(receive(&roster, events(right, omitted: -1), topic: topic.events)) == "nothing")
        #expect(roster.ignoredCount == 2)
        #expect(name(receive(&roster, events(right, omitted: 1), topic: topic.events)) == "finished")
    }

    @Test
    func `Long texts in finished activities are truncated, and members that are unknown are skipped`() throws {
        var roster = MQTTRoster(prefix: "p")
        let long = String(repeating: "x", count: 1000)
        let activity =
            #"{"x":[1,{}],"label":"\#(long)","outcome":"failed","message":"\#(long)\u0007\n","seconds":1.5e0}"#
        let payload = #" {"finished":[\#(activity),\#(activity)],"new":null,"omitted":null,"epoch":1} "#
        guard case .finished(_, let events)? = receive(&roster, payload, topic: topic.events) else {
            Issue.record("not decoded")
            return
        }
        #expect(events.finished.count == 2 && events.epoch == 1 && events.omitted == nil)
        #expect(events.finished.first?.label.count == 256 && events.finished.first?.message?.count == 256)
        #expect(events.finished.first?.seconds == 1.5)
    }

    @Test(
        "Finished activities without a required member, or with another type or text after them, are ignored",
        arguments: [
            #"{"finished":[]}"#, #"{"epoch":1}"#, #"{"epoch":1,"finished":null}"#, #"{"epoch":1,"finished":{}}"#,
            #"{"epoch":1,"finished":[{"label":"x","outcome":"failed"}]}"#,
            #"{"epoch":1,"finished":[{"label":"x","seconds":1}]}"#,
            #"{"epoch":1,"finished":[{"outcome":"failed","seconds":1}]}"#,
            #"{"epoch":1,"finished":[{"label":1,"outcome":"failed","seconds":1}]}"#,
            #"{"epoch":1,"finished":[]}{}"#, #"{"epoch":1,"finished":[]"#, #"{"epoch":1.5,"finished":[]}"#,
        ]
    )
    func incompleteEvents(payload: String) {
        var roster = MQTTRoster(prefix: "p")
        #expect(name(receive(&roster, payload, topic: topic.events)) == "nothing")
        #expect(roster.ignoredCount == 1)
        #expect(name(receive(&roster, #"{"epoch":1,"finished":[]}"#, topic: topic.events)) == "finished")
    }

    @Test
    func `The numbers at the ends of their ranges are accepted`() {
        var roster = MQTTRoster(prefix: "p")
        let state = #"{"state":"active","epoch":9223372036854775807,"seq":1,"count":9223372036854775807,"progress":"#
        #expect(name(receive(&roster, state + "0}")) == "appeared")
        #expect(name(receive(&roster, state.replacing(#""seq":1"#, with: #""seq":2"#) + "1}")) == "changed")
        #expect(roster.ignoredCount == 0)
    }

    @Test(arguments: [57, 58, 59])
    func `No message harms the roster, whatever is in it, and few entries remain`(seed: UInt64) {
        var generator = SplitMix(state: seed)
        var roster = MQTTRoster(prefix: "p")
        let pieces = [
            "{", "}", "\"state\"", ":", "\"active\"", "\"lost\"", ",", "\"epoch\"", "\"seq\"", "1", "-9", "\u{0}", "é",
        ]
        for _ in 0..<2000 {
            let count = Int.random(in: 0...12, using: &generator)
            let payload = (0..<count).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            let expiry = Bool.random(using: &generator) ? UInt32.max : nil
            _ = receive(&roster, payload, isRetained: .random(using: &generator), expiry: expiry)
            _ = roster.advance(to: start)
        }
        #expect(roster.count <= 1)
    }
}
#endif
