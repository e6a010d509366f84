// What this folder's size buys: many machines on one board, with lost ones detected by the broker, and TLS, two
// versions of MQTT and several brokers.

#if MQTT
import Foundation
import IndicatorCore

extension BackendKind {
    /// An MQTT broker, for watching many machines; see ``MQTTBackend``.
    public static var mqtt: BackendKind {
        BackendKind(
            name: "mqtt",
            summary: "an MQTT broker, for watching many machines",
            settings: [
                BackendSetting(
                    "url",
                    .strings,
                    default: .list(["mqtt://localhost:1883"]),
                    example: .list(["mqtts://broker.example:8883"]),
                    summary: "the broker: mqtt://, or mqtts:// for TLS, then host and port; or a list of its addresses",
                    validate: { value in
                        guard case .list(let texts) = value else { return nil }
                        do {
                            for text in texts { _ = try MQTTURL(text) }
                            return texts.isEmpty ? "the address of a broker" : nil
                        } catch MQTTError.invalidURL(let reason) {
                            return "an address such as mqtt://broker.example:1883 (\(reason))"
                        } catch {
                            return "the address of a broker"
                        }
                    }
                ),
                BackendSetting(
                    "protocol",
                    .choice(MQTTSettings.ProtocolVersion.allCases.map(\.rawValue)),
                    default: .string(MQTTSettings.ProtocolVersion.automatic.rawValue),
                    summary: "the version of MQTT: 5, 3.1.1, or what the broker speaks"
                ),
                BackendSetting("username", .string, example: .string("build"), summary: "the user name"),
                BackendSetting(
                    "password",
                    .string,
                    example: .string("secret"),
                    summary: "the password; prefer 'passwordFile' or the variable INDICATOR_MQTT_PASSWORD",
                    isSecret: true
                ),
                BackendSetting(
                    "passwordFile",
                    .path,
                    example: .string("~/.config/my-app/mqtt-password"),
                    summary: "a file whose first line is the password"
                ).ofSecretFile,
                BackendSetting(
                    "caFile",
                    .path,
                    example: .string("/etc/ssl/broker-ca.pem"),
                    summary: "the certificates of trusted authorities, in PEM; by default the system's"
                ),
                BackendSetting(
                    "certificateFile",
                    .path,
                    example: .string("~/.config/my-app/client.pem"),
                    summary: "the certificate of this client, in PEM"
                ),
                BackendSetting(
                    "keyFile",
                    .path,
                    example: .string("~/.config/my-app/client.key"),
                    summary: "the private key of that certificate, in PEM, without a passphrase"
                ).ofSecretFile,
                BackendSetting(
                    "topic",
                    .string,
                    default: .string(MQTTSettings.standardTopic),
                    summary: "the prefix of all topics",
                    validate: { value in
                        if case .string(let text) = value { MQTTTopic.problem(withPrefix: text) } else { nil }
                    }
                ),
                BackendSetting(
                    "host",
                    .string,
                    example: .string("build-17"),
                    summary: "the name of this machine in topics; by default the system's host name"
                ),
                BackendSetting(
                    "interval",
                    .seconds,
                    default: .duration(.milliseconds(500)),
                    summary: "the shortest time between two messages"
                ),
                BackendSetting(
                    "keepAlive",
                    .seconds,
                    default: .duration(.seconds(15)),
                    summary: "how long a connection may be silent; the broker reports a loss after 1.5 times as long",
                    validate: { seconds($0, in: 5...3600) }
                ),
                BackendSetting(
                    "refresh",
                    .seconds,
                    example: .duration(.seconds(600)),
                    summary: "after how long an unchanged state is sent again; by default 600, with MQTT 3.1.1 60",
                    validate: { seconds($0, in: 10...86400) }
                ),
                BackendSetting(
                    "homeAssistantTopic",
                    .string,
                    example: .string("homeassistant"),
                    summary: "shows the app in Home Assistant, whose discovery has this prefix",
                    validate: { value in
                        if case .string(let text) = value { MQTTTopic.problem(withPrefix: text) } else { nil }
                    }
                ),
            ],
            make: { context, settings in
                MQTTBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: try MQTTSettings(settings)
                )
            },
            availability: { context, settings in
                do {
                    let settings = try MQTTSettings(settings)
                    let topic = MQTTBackend(applicationName: context.applicationName, settings: settings).topic
                    let isVersion5 = try await MQTTWatcher.probe(settings, topic, within: .seconds(3))
                    let version = isVersion5 ? "" : " (MQTT 3.1.1, which does not report a forbidden publication)"
                    return .available(detail: settings.brokerName + version)
                } catch let error as MQTTError {
                    return .unavailable(reason: error.reason, help: error.help)
                } catch {
                    return .unavailable(reason: "\(error)", help: nil)
                }
            }
        )
    }
}

/// What a number of seconds should be if it is out of range.
private func seconds(_ value: BackendSettingValue, in range: ClosedRange<Int64>) -> String? {
    guard case .duration(let duration) = value, !range.contains(duration.components.seconds) else { return nil }
    return "a number of seconds from \(range.lowerBound) to \(range.upperBound)"
}

extension MQTTSettings {
    /// Reads the settings from a section of a config file.
    init(_ settings: BackendSettings) throws {
        let urls = try (settings.list("url") ?? []).map { try MQTTURL($0) }
        guard let first = urls.first else { throw MQTTError.invalidURL(reason: "there is none") }
        self.init(url: first)
        self.urls = urls
        protocolVersion = settings.string("protocol").flatMap(ProtocolVersion.init(rawValue:)) ?? .automatic
        username = settings.string("username")
        if let path = settings.string("passwordFile") { password = .file(path) }
        if let text = settings.string("password") { password = .text(text) }
        caFile = settings.string("caFile")
        certificateFile = settings.string("certificateFile")
        keyFile = settings.string("keyFile")
        if let topic = settings.string("topic") { self.topic = topic }
        if let host = settings.string("host"), !host.isEmpty { self.host = host }
        if let interval = settings.duration("interval") { self.interval = interval }
        if let keepAlive = settings.duration("keepAlive") { self.keepAlive = keepAlive }
        refresh = settings.duration("refresh")
        homeAssistantTopic = settings.string("homeAssistantTopic")
    }
}
#endif
