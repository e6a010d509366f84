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
                    .string,
                    default: .string("mqtt://localhost:1883"),
                    example: .string("mqtts://broker.example:8883"),
                    summary: "the broker: mqtt://, or mqtts:// for TLS, then host and port",
                    validate: { value in
                        guard case .string(let text) = value else { return nil }
                        do {
                            _ = try MQTTURL(text)
                            return nil
                        } catch MQTTError.invalidURL(let reason) {
                            return "an address such as mqtt://broker.example:1883 (\(reason))"
                        } catch {
                            return "the address of a broker"
                        }
                    }
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
                    let probe = MQTTBackend(applicationName: context.applicationName, settings: settings)
                    defer { withExtendedLifetime(probe) {} }
                    try await probe.start()
                    await probe.stop()
                    return .available(detail: "\(settings.url)")
                } catch let error as MQTTError {
                    return .unavailable(reason: error.reason, help: error.help)
                } catch {
                    return .unavailable(reason: "\(error)", help: nil)
                }
            }
        )
    }
}

extension MQTTSettings {
    /// Reads the settings from a section of a config file.
    init(_ settings: BackendSettings) throws {
        self.init(url: try MQTTURL(settings.string("url") ?? ""))
        username = settings.string("username")
        if let path = settings.string("passwordFile") { password = .file(path) }
        if let text = settings.string("password") { password = .text(text) }
        caFile = settings.string("caFile")
        certificateFile = settings.string("certificateFile")
        keyFile = settings.string("keyFile")
        if let topic = settings.string("topic") { self.topic = topic }
        if let host = settings.string("host"), !host.isEmpty { self.host = host }
        if let interval = settings.duration("interval") { self.interval = interval }
    }
}
#endif
