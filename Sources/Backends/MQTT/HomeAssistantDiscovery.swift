#if MQTT
import Foundation

/// What tells Home Assistant to show an app's indicator: the retained messages of its MQTT discovery
/// (https://www.home-assistant.io/integrations/mqtt/#mqtt-discovery).
///
/// All processes of one app on one machine share two entities, which show the latest message of any of them.
struct HomeAssistantDiscovery {
    private struct Entity: Encodable {
        struct Device: Encodable {
            var identifiers: [String]
            var name: String
        }

        struct Origin: Encodable {
            var name = "swift-indicator"
        }

        var name: String
        var unique_id: String
        var state_topic: String
        var value_template: String
        var icon: String?
        var device_class: String?
        var json_attributes_topic: String?
        var json_attributes_template: String?
        var expire_after: Int?
        var device: Device
        var origin = Origin()
    }

    /// The topics and payloads.
    let messages: [(topic: String, payload: [UInt8])]

    /// - Parameters:
    ///   - prefix: the prefix of discovery topics in Home Assistant, by default `homeassistant`.
    ///   - silence: the seconds after which a process that publishes nothing counts as lost.
    init(prefix: String, topic: MQTTTopic, silence: Int) {
        let (host, app) = (Self.identifier(topic.host), Self.identifier(topic.app))
        let states = "\(topic.prefix)/\(MQTTTopic.level(topic.host))/\(MQTTTopic.level(topic.app))"
        let device = Entity.Device(identifiers: ["indicator/\(host)"], name: MQTTReport.text(topic.host))
        let name = MQTTReport.text(topic.app)
        // The message of an ended process is empty.
        let state = Entity(
            name: name,
            unique_id: "indicator/\(host)/\(app)",
            state_topic: states + "/+",
            value_template: "{{ 'ended' if not value else 'active' if value_json.visible else 'idle' }}",
            icon: "mdi:progress-clock",
            json_attributes_topic: states + "/+",
            json_attributes_template: "{{ value if value else '{}' }}",
            expire_after: silence,
            device: device
        )
        // On after a will, off after the state of any process; finished activities change nothing.
        let lost = Entity(
            name: "\(name) lost",
            unique_id: "indicator/\(host)/\(app)/lost",
            state_topic: states + "/#",
            value_template: """
                {{ 'OFF' if not value else '' if value_json.finished is defined \
                else 'ON' if value_json.state == 'lost' else 'OFF' }}
                """,
            device_class: "problem",
            device: device
        )
        messages = [("sensor", state), ("binary_sensor", lost)].map { component, entity in
            ("\(prefix)/\(component)/\(host)/\(app)/config", MQTTReport.encoded(entity))
        }
    }

    /// A name in the characters that discovery topics may have: other bytes become `_2E` and so on.
    private static func identifier(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            if byte < 0x80, Character(scalar).isLetter || Character(scalar).isNumber || scalar == "-" {
                return String(scalar)
            }
            return "_" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        .joined()
    }
}
#endif
