#if DEBUG && MQTT
import Foundation

@testable import IndicatorBackends
@testable import IndicatorCommands

/// What other clients publish below the prefix of `watch --mqtt`: states, wills, finished activities, and topics. A
/// line of the input is a message: a byte of flags, the topic, a tab, and the payload.
@Sendable func fuzzStates(_ bytes: [UInt8]) {
    let start = ContinuousClock.now
    var roster = MQTTRoster(prefix: "p", memoryLimit: 20_000)
    roster.connected(at: start)
    var now = start
    for line in bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 200) {
        guard let flags = line.first, let tab = line.dropFirst().firstIndex(of: UInt8(ascii: "\t")),
            let topic = String(validating: line[..<tab].dropFirst(), as: UTF8.self)
        else { continue }
        if let (parsed, content) = MQTTTopic.parse(topic, prefix: "p") {
            let texts: [MQTTTopic.Content: String] = [.state: parsed.state, .events: parsed.events, .lost: parsed.lost]
            precondition(texts[content].map { $0.utf8.elementsEqual(topic.utf8) } == true, topic)
        }
        now += .seconds(Int(flags >> 4) * 100)
        let event = Array(line[tab...].dropFirst()).withUnsafeBytes { payload in
            let expiry = flags & 4 == 0 ? nil : UInt32(flags) << 24
            return roster.receive(
                MQTTClient.Message(topic: topic, payload: payload, isRetained: flags & 2 != 0, expiry: expiry),
                at: now
            )
        }
        for event in [event].compactMap(\.self) + roster.advance(to: now) {
            for case .event(let event) in BrokerOptions.reports(of: .event(event)) { check(event) }
        }
        precondition(roster.count <= 100, "its memory is limited")
    }
}

/// A line is one, and interprets nothing.
private func check(_ event: WatchEvent) {
    guard let json = try? JSONLine.text(of: event) else { preconditionFailure("\(event)") }
    for text in [event.text, json] {
        precondition(!text.unicodeScalars.contains { $0.properties.generalCategory == .control }, text.debugDescription)
    }
    precondition((try? JSONSerialization.jsonObject(with: Data(json.utf8))) is [String: Any], json)
}
#endif
