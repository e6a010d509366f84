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
            defaults: MQTTSettings(url: MQTTURL(host: "localhost", port: 1883)),
            settings: MQTTSettings.settings,
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

extension MQTTSettings {
    static let settings: [Setting<Self>] = [
        Setting(
            "url",
            \.urls,
            SettingForm(
                .texts,
                "a string or a list of strings",
                read: { try $0.list.map(urls) },
                write: { .list($0.map(\.description)) }
            ),
            example: (try? MQTTURL("mqtts://broker.example:8883")).map { [$0] },
            summary: "the broker: mqtt://, or mqtts:// for TLS, then host and port; or a list of its addresses"
        ).with(.address),
        Setting(
            "protocol",
            \.protocolVersion,
            .choice,
            summary: "the version of MQTT: 5, 3.1.1, or what the broker speaks"
        ),
        Setting("username", \.username, .text, example: "build", summary: "the user name"),
        Setting(
            "password",
            \.passwordText,
            .text,
            example: "secret",
            summary: "the password; prefer 'passwordFile' or the variable INDICATOR_MQTT_PASSWORD",
            isSecret: true
        ),
        Setting(
            "passwordFile",
            \.passwordFile,
            .path,
            example: "~/.config/my-app/mqtt-password",
            summary: "a file whose first line is the password"
        ).with(.secretFile),
        Setting(
            "caFile",
            \.caFile,
            .path,
            example: "/etc/ssl/broker-ca.pem",
            summary: "the certificates of trusted authorities, in PEM; by default the system's"
        ),
        Setting(
            "certificateFile",
            \.certificateFile,
            .path,
            example: "~/.config/my-app/client.pem",
            summary: "the certificate of this client, in PEM"
        ),
        Setting(
            "keyFile",
            \.keyFile,
            .path,
            example: "~/.config/my-app/client.key",
            summary: "the private key of that certificate, in PEM, without a passphrase"
        ).with(.secretFile),
        Setting("topic", \.topic, .text, summary: "the prefix of all topics", validate: MQTTTopic.problem(withPrefix:)),
        Setting(
            "host",
            \.givenHost,
            .text,
            example: "build-17",
            summary: "the name of this machine in topics; by default the system's host name"
        ),
        Setting("interval", \.interval, .seconds, summary: "the shortest time between two messages"),
        Setting(
            "keepAlive",
            \.keepAlive,
            .seconds,
            summary: "how long a connection may be silent; the broker reports a loss after 1.5 times as long",
            validate: { seconds($0, in: 5...3600) }
        ),
        Setting(
            "refresh",
            \.refresh,
            .seconds,
            example: .seconds(600),
            summary: "after how long an unchanged state is sent again; by default 600, with MQTT 3.1.1 60",
            validate: { seconds($0, in: 10...86400) }
        ),
    ]

    private static func urls(_ texts: [String]) throws -> [MQTTURL] {
        guard !texts.isEmpty else { throw SettingFault("the address of a broker") }
        do {
            return try texts.map { try MQTTURL($0) }
        } catch MQTTError.invalidURL(let reason) {
            throw SettingFault("an address such as mqtt://broker.example:1883 (\(reason))")
        }
    }

    // What the config file sets. It has no defaults to show: a secret, or the system's.

    private var passwordText: String? {
        get { nil }
        set { password = newValue.map { .text($0) } }
    }

    /// A password itself has precedence.
    private var passwordFile: String? {
        get { nil }
        set { if password == nil { password = newValue.map { .file($0) } } }
    }

    private var givenHost: String? {
        get { nil }
        set { if let newValue, !newValue.isEmpty { host = newValue } }
    }
}

/// What a number of seconds should be if it is out of range.
private func seconds(_ value: Duration, in range: ClosedRange<Int64>) -> String? {
    if range.contains(value.components.seconds) { return nil }
    return "a number of seconds from \(range.lowerBound) to \(range.upperBound)"
}
