import ArgumentParser
import Foundation
#if MQTT
package import IndicatorBackends
#endif

/// The options of `watch --mqtt`.
package struct BrokerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Watch an MQTT broker instead of a bus: its address, or those of a cluster's nodes, separated by commas.",
            valueName: "url"
        )
    )
    var mqtt: String?

    @Option(help: ArgumentHelp("The prefix of all topics. (default: indicator/1)", valueName: "topic"))
    var topic: String?

    @Option(help: "auto, 5 or 3.1.1. (default: auto)")
    var `protocol`: String?

    @Option(help: ArgumentHelp("Only this machine, or a pattern such as 'web-*'; may be repeated.", valueName: "name"))
    var host: [String] = []

    @Option(help: ArgumentHelp("Only this app, or a pattern; may be repeated.", valueName: "name"))
    var app: [String] = []

    @Flag(help: "Remove the lost indicators from the broker, print them and exit.")
    var forget = false

    @Option(help: "The user name; set the password in INDICATOR_MQTT_PASSWORD.")
    var username: String?

    @Option(help: ArgumentHelp("A file with the password.", valueName: "path"))
    var passwordFile: String?

    @Option(help: ArgumentHelp("With mqtts: a file with the trusted certificate authorities.", valueName: "path"))
    var caFile: String?

    @Option(help: ArgumentHelp("With mqtts: the client's certificate.", valueName: "path"))
    var certificateFile: String?

    @Option(help: ArgumentHelp("With mqtts: the client's private key.", valueName: "path"))
    var keyFile: String?

    package init() {}

    package func validate() throws {
        let texts = [topic, `protocol`, username, passwordFile, caFile, certificateFile, keyFile] + host + app
        if mqtt == nil, forget || texts.contains(where: { $0 != nil }) {
            throw ValidationError("without --mqtt, only --bus, --json, --format and --once can be used")
        }
        #if MQTT
        do { _ = try mqtt.map(watcher) } catch { throw ValidationError("\(error)") }
        if let passwordFile, let warning = SecretFile.warning(passwordFile) {
            try? Output.error.write("\(Program.name): warning: \(warning)\n")
        }
        #else
        if mqtt != nil { throw ValidationError("this build has no MQTT support; build with the trait MQTT") }
        #endif
    }
}

#if MQTT
extension BrokerOptions {
    private func watcher(_ addresses: String) throws -> MQTTWatcher {
        let urls = try addresses.split(separator: ",").map { try MQTTURL(String($0)) }
        guard let first = urls.first else { throw ValidationError("--mqtt must not be empty") }
        var settings = MQTTSettings(url: first)
        settings.urls = urls
        if let topic {
            if let problem = MQTTTopic.problem(withPrefix: topic) {
                throw ValidationError("--topic is '\(WatchedState.text(topic))'; it must be \(problem)")
            }
            settings.topic = topic
        }
        settings.username = username
        if let passwordFile {
            settings.password = .file(passwordFile)
        } else if let password = ProcessInfo.processInfo.environment["INDICATOR_MQTT_PASSWORD"] {
            settings.password = .text(password)
        }
        (settings.caFile, settings.certificateFile, settings.keyFile) = (caFile, certificateFile, keyFile)
        if let name = self.protocol {
            guard let version = MQTTSettings.ProtocolVersion(rawValue: name) else {
                throw ValidationError("--protocol is '\(WatchedState.text(name))'; it must be auto, 5 or 3.1.1")
            }
            settings.protocolVersion = version
        }
        return MQTTWatcher(settings: settings, hosts: host, apps: app)
    }

    func watch(once: Bool, _ report: @escaping @Sendable (WatchReport) -> Void) async throws {
        guard let watcher = try mqtt.map(watcher) else { return }
        try await watcher.run(once: once) { Self.reports(of: $0).forEach(report) }
    }

    func forgetLost() async throws {
        guard let watcher = try mqtt.map(watcher) else { return }
        let forgotten = try await watcher.forgetLost { report in
            if case .notice(let text) = report { try? Output.error.write("\(Program.name): \(text)\n") }
        }
        for topic in forgotten { try Output.standard.write("\(WatchEvent.Source(topic).name) forgotten\n") }
    }

    /// What is reported of an event on a broker.
    package static func reports(of report: MQTTWatcher.Report) -> [WatchReport] {
        func event(_ kind: WatchEvent.Kind, _ topic: MQTTTopic, _ report: MQTTReport? = nil) -> WatchEvent {
            WatchEvent(kind, .init(topic), state: report.map(WatchedState.init))
        }
        switch report {
        case .listed: return [.listed]
        case .notice(let text): return [.notice(text)]
        case .event(.appeared(let topic, let report)): return [.event(event(.appeared, topic, report))]
        case .event(.changed(let topic, let report)): return [.event(event(.changed, topic, report))]
        case .event(.lost(let topic, let report)): return [.event(event(.lost, topic, report))]
        case .event(.vanished(let topic)): return [.event(event(.vanished, topic))]
        case .event(.broken(let topic, let problem)):
            return [.event(WatchEvent(.broken, .init(topic), problem: WatchedState.text(problem)))]
        case .event(.finished(let topic, let events)):
            let finished = events.finished.map {
                WatchEvent.Finished(label: $0.label, outcome: $0.outcome, message: $0.message, seconds: $0.seconds)
            }
            return finished.map { .event(WatchEvent(.finished, .init(topic), finished: $0)) }
                + (events.omitted.map { [.event(WatchEvent(.finished, .init(topic), omitted: $0))] } ?? [])
        }
    }
}

extension WatchEvent.Source {
    fileprivate init(_ topic: MQTTTopic) {
        let name = "\(topic.host)/\(topic.app)/\(topic.instance)"
        self.init(name: name, host: topic.host, app: topic.app, instance: topic.instance)
    }
}

extension WatchedState {
    fileprivate init(_ report: MQTTReport) {
        self.init()
        (visible, state, count) = (report.visible ?? false, Self.text(report.state), report.count)
        (label, progress) = (report.label.map(Self.text), report.progress)
        (attention, since) = (report.attention.map(Self.text), report.since.map(Self.text))
        activities = report.activities?.map { Activity(label: $0.label, progress: $0.progress) }
    }
}
#endif
