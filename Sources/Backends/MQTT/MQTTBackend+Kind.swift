public import BackendConfiguration
import IndicatorCore
import Foundation

extension BackendKind {
    /// An MQTT broker, for watching many machines; see ``MQTTBackend``.
    public static var mqtt: BackendKind {
        BackendKind(
            name: "mqtt",
            summary: "an MQTT broker, for watching many machines",
            settings: MQTTSettings.init(_:),
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
    package init(_ values: inout SettingsReader) {
        self.init(url: MQTTURL(host: "localhost", port: 1883))
        values.read(
            "url",
            &urls,
            .urls,
            example: (try? MQTTURL("mqtts://broker.example:8883")).map { [$0] },
            summary: "the broker: mqtt://, or mqtts:// for TLS, then host and port; or a list of its addresses"
        )
        values.read(
            "protocol",
            &protocolVersion,
            .choice,
            summary: "the version of MQTT: 5, 3.1.1, or what the broker speaks"
        )
        values.read("username", &username, .text, example: "build", summary: "the user name")
        var (password, passwordFile): (String?, String?)
        values.read(
            "password",
            &password,
            .secret,
            example: "secret",
            summary: "the password; prefer 'passwordFile' or the variable INDICATOR_MQTT_PASSWORD"
        )
        values.read(
            "passwordFile",
            &passwordFile,
            .secretFile,
            example: "~/.config/my-app/mqtt-password",
            summary: "a file whose first line is the password"
        )
        // A password itself has precedence.
        self.password = password.map { .text($0) } ?? passwordFile.map { .file($0) }
        values.read(
            "caFile",
            &caFile,
            .path,
            example: "/etc/ssl/broker-ca.pem",
            summary: "the certificates of trusted authorities, in PEM; by default the system's"
        )
        values.read(
            "certificateFile",
            &certificateFile,
            .path,
            example: "~/.config/my-app/client.pem",
            summary: "the certificate of this client, in PEM"
        )
        values.read(
            "keyFile",
            &keyFile,
            .secretFile,
            example: "~/.config/my-app/client.key",
            summary: "the private key of that certificate, in PEM, without a passphrase"
        )
        values.read(
            "topic",
            &topic,
            .text,
            summary: "the prefix of all topics",
            validate: MQTTTopic.problem(withPrefix:)
        )
        var host: String?
        values.read(
            "host",
            &host,
            .text,
            example: "build-17",
            summary: "the name of this machine in topics; by default the system's host name"
        )
        if let host, !host.isEmpty { self.host = host }
        let summary = "the shortest time between two messages; hiding does not wait"
        values.read("interval", &interval, .seconds, summary: summary)
        values.read(
            "keepAlive",
            &keepAlive,
            .seconds,
            summary: "how long a connection may be silent; the broker reports a loss after 1.5 times as long",
            validate: { seconds($0, in: 5...3600) }
        )
        values.read(
            "refresh",
            &refresh,
            .seconds,
            example: .seconds(600),
            summary: "after how long an unchanged state is sent again; by default 600, with MQTT 3.1.1 60",
            validate: { seconds($0, in: 10...86400) }
        )
    }
}

extension SettingForm<[MQTTURL]> {
    fileprivate static var urls: Self {
        var form = texts(
            read: { texts in
                guard !texts.isEmpty else { throw SettingFault("the address of a broker") }
                do {
                    return try texts.map { try MQTTURL($0) }
                } catch MQTTError.invalidURL(let reason) {
                    throw SettingFault("an address such as mqtt://broker.example:1883 (\(reason))")
                }
            },
            texts: { $0.map(\.description) }
        )
        form.isAddress = true
        return form
    }
}

/// What a number of seconds should be if it is out of range.
private func seconds(_ value: Duration, in range: ClosedRange<Int64>) -> String? {
    if range.contains(value.components.seconds) { return nil }
    return "a number of seconds from \(range.lowerBound) to \(range.upperBound)"
}
