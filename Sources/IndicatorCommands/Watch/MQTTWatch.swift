import ArgumentParser
import Foundation
import IndicatorBackends

/// The options of `watch --mqtt`.
struct MQTTWatchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Watch an MQTT broker instead of a bus.", valueName: "url"))
    var mqtt: String?

    @Option(help: ArgumentHelp("With --mqtt: the prefix of all topics.", valueName: "topic"))
    var topic: String?

    @Option(help: ArgumentHelp("With --mqtt: only this machine; may be repeated.", valueName: "name"))
    var host: [String] = []

    @Option(help: ArgumentHelp("With --mqtt: only this app; may be repeated.", valueName: "name"))
    var app: [String] = []

    @Flag(help: "With --mqtt: remove the lost indicators from the broker, print them and exit.")
    var forget = false

    @Option(help: ArgumentHelp("With --mqtt: the user name; set the password in INDICATOR_MQTT_PASSWORD."))
    var username: String?

    @Option(help: ArgumentHelp("With --mqtt: a file with the password.", valueName: "path"))
    var passwordFile: String?

    @Option(help: ArgumentHelp("With mqtts: a file with the trusted certificate authorities.", valueName: "path"))
    var caFile: String?

    @Option(help: ArgumentHelp("With mqtts: the client's certificate.", valueName: "path"))
    var certificateFile: String?

    @Option(help: ArgumentHelp("With mqtts: the client's private key.", valueName: "path"))
    var keyFile: String?

    #if MQTT
    /// The watcher of the broker; `nil` without `--mqtt`.
    var watcher: MQTTWatcher? {
        get throws {
            guard let mqtt else { return nil }
            var settings = MQTTSettings(url: try MQTTURL(mqtt))
            settings.username = username
            if let passwordFile {
                settings.password = .file(passwordFile)
                if let warning = SecretFile.warning(passwordFile) {
                    try? Output.error.write("\(Program.name): warning: \(warning)\n")
                }
            } else if let password = ProcessInfo.processInfo.environment["INDICATOR_MQTT_PASSWORD"] {
                settings.password = .text(password)
            }
            (settings.caFile, settings.certificateFile, settings.keyFile) = (caFile, certificateFile, keyFile)
            if let topic { settings.topic = topic }
            var watcher = MQTTWatcher(settings: settings)
            (watcher.hosts, watcher.apps) = (host, app)
            return watcher
        }
    }
    #endif

    func validate(format: String?) throws {
        let texts = [topic, username, passwordFile, caFile, certificateFile, keyFile] + host + app
        if mqtt == nil, forget || texts.contains(where: { $0 != nil }) {
            throw ValidationError("without --mqtt, only --bus, --json, --format and --once can be used")
        }
        if forget, format != nil { throw ValidationError("--forget cannot be combined with --format") }
        #if MQTT
        if let topic, let problem = MQTTTopic.problem(withPrefix: topic) {
            throw ValidationError("--topic is '\(MQTTWatchLine.shown(topic))'; it must be \(problem)")
        }
        do { _ = try watcher } catch { throw ValidationError("\(error)") }
        if mqtt != nil, let format, let problem = MQTTWatchFormat(text: format).problem {
            throw ValidationError(problem)
        }
        #else
        if mqtt != nil { throw ValidationError("this build has no MQTT support; build with the trait MQTT") }
        #endif
    }
}

#if MQTT
/// `watch --mqtt`: all indicators on a broker and their changes.
struct MQTTWatch {
    let options: MQTTWatchOptions
    let format: String?
    let printsJSON: Bool

    func run() async throws {
        guard let watcher = try options.watcher else { return }
        try await Output.guarding {
            do {
                if options.forget {
                    let forgotten = try await watcher.forgetLost { report in
                        if case .notice(let text) = report { try? Output.error.write("\(Program.name): \(text)\n") }
                    }
                    for topic in forgotten {
                        try Output.standard.write("\(MQTTWatchLine.name(topic)) forgotten\n")
                    }
                } else {
                    let format = format.map(MQTTWatchFormat.init)
                    let printsJSON = printsJSON
                    try await watcher.run { report in
                        switch report {
                        case .notice(let text): try? Output.error.write("\(Program.name): \(text)\n")
                        case .event(let event):
                            let line = MQTTWatchLine(event)
                            let text = printsJSON ? try line.json : format?.text(for: line) ?? line.text
                            try Output.standard.write(text + "\n")
                        }
                    }
                }
            } catch let error as MQTTError {
                try? Output.error.write("\(Program.name): error: \(error)\n")
                throw ExitCode.failure
            }
        }
    }
}

/// A line of `watch --mqtt`.
struct MQTTWatchLine: Encodable {
    /// The event: `appeared`, `changed`, `finished`, `lost` or `vanished`.
    var event: String
    var host: String
    var app: String
    var instance: String
    var state: MQTTReport?
    var finished: [MQTTEvents.Finished]?
    var omitted: Int?

    private let topic: MQTTTopic

    init(_ event: MQTTRoster.Event) {
        switch event {
        case .appeared(let topic, let report): (self.event, self.topic, state) = ("appeared", topic, report)
        case .changed(let topic, let report): (self.event, self.topic, state) = ("changed", topic, report)
        case .lost(let topic, let report): (self.event, self.topic, state) = ("lost", topic, report)
        case .vanished(let topic): (self.event, self.topic) = ("vanished", topic)
        case .finished(let topic, let events):
            (self.event, self.topic) = ("finished", topic)
            (finished, omitted) = (events.finished, events.omitted)
        }
        (host, app, instance) = (topic.host, topic.app, topic.instance)
    }

    private enum CodingKeys: String, CodingKey {
        case event, host, app, instance, state, finished, omitted
    }

    /// The line as JSON, for programs.
    var json: String {
        get throws { try JSONLine.text(of: self) }
    }

    /// The line for people. Control characters of a message are not written to the terminal.
    var text: String {
        let name = Self.name(topic)
        if let finished {
            var parts = finished.map { item in
                let message = item.message.map { ": \(Self.shown($0))" } ?? ""
                let seconds = NumberStyle.current.text(item.seconds, digits: 1)
                return "'\(Self.shown(item.label))' \(Self.shown(item.outcome))\(message), \(seconds) s"
            }
            if let omitted { parts.append("and \(omitted) more") }
            return "\(name) finished: \(parts.joined(separator: "; "))"
        }
        guard let state, event != "vanished" else { return "\(name) \(event)" }
        var parts = [state.visible == true ? "shown" : "hidden", state.state]
        if let count = state.count { parts.append(count == 1 ? "1 activity" : "\(count) activities") }
        if let progress { parts.append(progress) }
        if let label = state.label { parts.append("'\(Self.shown(label))'") }
        if let attention = state.attention { parts.append("asks '\(Self.shown(attention))'") }
        return "\(name) \(event): \(parts.joined(separator: ", "))"
    }

    /// The progress in percent.
    var progress: String? { Percentage(state?.progress)?.text() }

    static func name(_ topic: MQTTTopic) -> String {
        "\(shown(topic.host))/\(shown(topic.app))/\(shown(topic.instance))"
    }

    static func shown(_ text: String) -> String { DisplayText.singleLine(text, limit: 200) }
}

/// The value of `--format`.
struct MQTTWatchFormat {
    /// Texts, and the names of placeholders.
    private var pieces: [(text: String, isName: Bool)] = []

    private static let names = ["event", "host", "app", "instance", "state", "count", "label", "progress"]

    init(text: String) {
        var end = text.startIndex
        for match in text.matches(of: /\{([^{}]*)\}/) {
            pieces += [(String(text[end..<match.range.lowerBound]), false), (String(match.1), true)]
            end = match.range.upperBound
        }
        pieces.append((String(text[end...]), false))
    }

    /// Why the format is invalid; `nil` when it is valid.
    var problem: String? {
        pieces.first { $0.isName && !Self.names.contains($0.text) }.map { name, _ in
            "--format: unknown '{\(name)}', expected \(Self.names.map { "{\($0)}" }.joined(separator: " "))"
        }
    }

    func text(for line: MQTTWatchLine) -> String {
        pieces.map { text, isName in
            guard isName else { return text }
            return switch text {
            case "event": line.event
            case "host": MQTTWatchLine.shown(line.host)
            case "app": MQTTWatchLine.shown(line.app)
            case "instance": MQTTWatchLine.shown(line.instance)
            case "state": line.state?.state ?? line.event
            case "count": line.state?.count.map { String($0) } ?? ""
            case "label": MQTTWatchLine.shown(line.state?.label ?? "")
            default: line.progress ?? ""
            }
        }.joined()
    }
}
#endif
