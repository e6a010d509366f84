public import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore

extension BackendKind {
    /// An MQTT broker, for watching many machines; see ``MQTTBackend``.
    public static var mqtt: BackendKind {
        BackendKind(
            name: "mqtt",
            summary: "an MQTT broker, for watching many machines",
            settings: MQTTSettings.self,
            make: { context, settings in
                MQTTBackend(name: context.name, applicationName: context.applicationName, settings: settings)
            },
            availability: { context, settings in
                let topic = MQTTBackend(applicationName: context.applicationName, settings: settings).topic
                let isVersion5 = try await MQTTBackend.probe(settings, topic, within: .seconds(3))
                let version = isVersion5 ? "" : " (MQTT 3.1.1, which does not report a forbidden publication)"
                return settings.brokerName + version
            }
        )
    }
}

extension MQTTSettings: KindSettings {
    package static let standard = Self(url: MQTTURL(host: "localhost", port: 1883))
    package static let bindings: [BoundSetting<Self>] = [
        BoundSetting(
            BackendSetting(
                "url",
                .strings,
                default: .list(standard.urls.map(\.description)),
                example: ["mqtts://broker.example:8883"],
                summary: "the broker: mqtt://, or mqtts:// for TLS, then host and port; or a list of its addresses"
            ),
            set: { value, settings in
                do {
                    settings.urls = try [String](settingValue: value).map { try MQTTURL($0) }
                } catch MQTTError.invalidURL(let reason) {
                    throw ExpectedSetting("an address such as mqtt://broker.example:1883 (\(reason))")
                }
                if settings.urls.isEmpty { throw ExpectedSetting("the address of a broker") }
            }
        ),
        BoundSetting(
            "protocol",
            \.protocolVersion,
            summary: "the version of MQTT: 5, 3.1.1, or what the broker speaks"
        ),
        BoundSetting("username", \.username, example: "build", summary: "the user name"),
        BoundSetting(
            BackendSetting(
                "password",
                .string,
                example: "secret",
                summary: "the password; prefer 'passwordFile' or the variable INDICATOR_MQTT_PASSWORD",
                isSecret: true
            ),
            set: { value, settings in settings.password = .text(try value.text) }
        ),
        BoundSetting(
            BackendSetting(
                "passwordFile",
                .path,
                example: "~/.config/my-app/mqtt-password",
                summary: "a file whose first line is the password"
            ),
            set: { value, settings in if settings.password == nil { settings.password = .file(try value.text) } }
        ).ofSecretFile,
        BoundSetting(
            "caFile",
            \.caFile,
            .path,
            example: "/etc/ssl/broker-ca.pem",
            summary: "the certificates of trusted authorities, in PEM; by default the system's"
        ),
        BoundSetting(
            "certificateFile",
            \.certificateFile,
            .path,
            example: "~/.config/my-app/client.pem",
            summary: "the certificate of this client, in PEM"
        ),
        BoundSetting(
            "keyFile",
            \.keyFile,
            .path,
            example: "~/.config/my-app/client.key",
            summary: "the private key of that certificate, in PEM, without a passphrase"
        ).ofSecretFile,
        BoundSetting("topic", \.topic, summary: "the prefix of all topics", validate: MQTTTopic.problem(withPrefix:)),
        BoundSetting(
            BackendSetting(
                "host",
                .string,
                example: "build-17",
                summary: "the name of this machine in topics; by default the system's host name"
            ),
            set: { value, settings in
                let name = try value.text
                if !name.isEmpty { settings.host = name }
            }
        ),
        BoundSetting("interval", \.interval, summary: "the shortest time between two messages"),
        BoundSetting(
            "keepAlive",
            \.keepAlive,
            summary: "how long a connection may be silent; the broker reports a loss after 1.5 times as long",
            validate: { seconds($0, in: 5...3600) }
        ),
        BoundSetting(
            "refresh",
            \.refresh,
            example: .duration(.seconds(600)),
            summary: "after how long an unchanged state is sent again; by default 600, with MQTT 3.1.1 60",
            validate: { $0.flatMap { seconds($0, in: 10...86400) } }
        ),
    ]
}

extension MQTTSettings.ProtocolVersion: SettingChoice {}

/// What a number of seconds should be if it is out of range.
private func seconds(_ value: Duration, in range: ClosedRange<Int64>) -> String? {
    if range.contains(value.components.seconds) { return nil }
    return "a number of seconds from \(range.lowerBound) to \(range.upperBound)"
}
