import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorThreads

/// The options of `watch --mqtt`.
struct MQTTWatchOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Watch an MQTT broker instead of a bus: its address, or those of a cluster's nodes, separated by commas. \
            May be repeated, for several brokers.
            """,
            valueName: "url"
        )
    )
    var mqtt: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            With --mqtt: the prefix of all topics. May be repeated: one for each broker, or several of one.
            """,
            valueName: "topic"
        )
    )
    var topic: [String] = []

    @Option(help: "With --mqtt: auto, 5 or 3.1.1.")
    var `protocol`: String?

    @Option(
        help: ArgumentHelp(
            "With --mqtt: only this machine, or a pattern such as 'web-*'; may be repeated.",
            valueName: "name"
        )
    )
    var host: [String] = []

    @Option(
        help: ArgumentHelp("With --mqtt: only this app, or a pattern; may be repeated.", valueName: "name")
    )
    var app: [String] = []

    @Flag(help: "With --mqtt: remove the lost indicators from the broker, print them and exit.")
    var forget = false

    @Option(
        help: ArgumentHelp(
            """
            With --forget: also those that publish nothing for this long, and longer than a live one may be silent.
            """,
            valueName: "seconds"
        )
    )
    var silentFor: Double?

    @Flag(help: "With --mqtt: print the numbers by host, app and state, and keep them up to date on a terminal.")
    var summary = false

    @Option(
        help: ArgumentHelp(
            "With --mqtt: serve metrics for Prometheus at this address, such as 127.0.0.1:9469.",
            valueName: "address"
        )
    )
    var prometheus: String?

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
    /// A watcher of each broker and prefix; none without `--mqtt`.
    var watchers: [MQTTWatcher] {
        get throws {
            let brokers = try mqtt.map { try $0.split(separator: ",").map { try MQTTURL(String($0)) } }
            let topics = topic.isEmpty ? [MQTTSettings.standardTopic] : topic
            let isOneBroker = brokers.count == 1
            guard brokers.count <= 1 || topics.count == 1 || topics.count == brokers.count else {
                throw ValidationError("--topic must be given once, or once for each --mqtt")
            }
            return try (0..<(isOneBroker ? topics.count : brokers.count)).map { number in
                try watcher(brokers[isOneBroker ? 0 : number], topics[topics.count == 1 ? 0 : number])
            }
        }
    }

    private func watcher(_ urls: [MQTTURL], _ topic: String) throws -> MQTTWatcher {
        guard let first = urls.first else { throw ValidationError("--mqtt must not be empty") }
        var settings = MQTTSettings(url: first)
        settings.urls = urls
        settings.topic = topic
        settings.username = username
        if let passwordFile {
            settings.password = .file(passwordFile)
        } else if let password = ProcessInfo.processInfo.environment["INDICATOR_MQTT_PASSWORD"] {
            settings.password = .text(password)
        }
        (settings.caFile, settings.certificateFile, settings.keyFile) = (caFile, certificateFile, keyFile)
        if let name = self.protocol {
            guard let version = MQTTSettings.ProtocolVersion(rawValue: name) else {
                throw ValidationError("--protocol is '\(MQTTWatchLine.shown(name))'; it must be auto, 5 or 3.1.1")
            }
            settings.protocolVersion = version
        }
        var watcher = MQTTWatcher(settings: settings)
        (watcher.hosts, watcher.apps) = (host, app)
        return watcher
    }
    #endif

    func validate(format: String?, printsJSON: Bool, once: Bool) throws {
        let texts =
            [`protocol`, username, passwordFile, caFile, certificateFile, keyFile, prometheus] + topic + host + app
        if mqtt.isEmpty, forget || summary || silentFor != nil || texts.contains(where: { $0 != nil }) {
            throw ValidationError("without --mqtt, only --bus, --json, --format and --once can be used")
        }
        let outputs = [format != nil, printsJSON, forget, summary].count(where: \.self)
        if outputs > 1 { throw ValidationError("only one of --json, --format, --forget and --summary can be used") }
        if forget || prometheus != nil, once {
            throw ValidationError("--once cannot be combined with --forget or --prometheus")
        }
        if let silentFor, !forget || !(0...604_800).contains(silentFor) {
            throw ValidationError(
                "--silent-for must be used with --forget, and be a number of seconds of at most a week"
            )
        }
        #if MQTT
        for topic in topic {
            guard let problem = MQTTTopic.problem(withPrefix: topic) else { continue }
            throw ValidationError("--topic is '\(MQTTWatchLine.shown(topic))'; it must be \(problem)")
        }
        do { _ = try watchers } catch { throw ValidationError("\(error)") }
        if let passwordFile, let warning = SecretFile.warning(passwordFile) {
            try? Output.error.write("\(Program.name): warning: \(warning)\n")
        }
        if let prometheus, MetricsServer.Address(prometheus) == nil {
            let text = MQTTWatchLine.shown(prometheus)
            throw ValidationError("--prometheus is '\(text)'; it must be an address and a port, such as 127.0.0.1:9469")
        }
        if !mqtt.isEmpty, let format, let problem = MQTTWatchFormat(text: format).problem {
            throw ValidationError(problem)
        }
        #else
        if !mqtt.isEmpty { throw ValidationError("this build has no MQTT support; build with the trait MQTT") }
        #endif
    }
}

#if MQTT
/// `watch --mqtt`: all indicators on one or more brokers, and their changes.
struct MQTTWatch {
    let options: MQTTWatchOptions
    let format: String?
    let printsJSON: Bool
    let once: Bool

    private enum Printed: Sendable {
        case lines(MQTTWatchFormat?)
        case json
        case table
        case summary(isLive: Bool)
        case nothing
    }

    func run() async throws {
        let watchers = try options.watchers
        try await Output.guarding {
            do {
                if options.forget { return try await forget(watchers) }
                let printed = printed
                let board = MQTTSharedBoard()
                var server: MetricsServer?
                if let address = options.prometheus.flatMap(MetricsServer.Address.init) {
                    server = try MetricsServer(address) { board.state.withLock { $0 }.metrics }
                    try? Output.error.write("\(Program.name): metrics at http://\(address)/metrics\n")
                }
                defer { withExtendedLifetime(server) {} }
                try await run(watchers, board, printed)
            } catch let error as MQTTError {
                try? Output.error.write("\(Program.name): error: \(error)\n")
                throw ExitCode.failure
            } catch let error as MetricsServer.Problem {
                try? Output.error.write("\(Program.name): error: \(error)\n")
                throw ExitCode.failure
            }
        }
    }

    private var printed: Printed {
        if printsJSON { return .json }
        if let format { return .lines(MQTTWatchFormat(text: format)) }
        if options.summary { return .summary(isLive: !once && TerminalStyle.standardOutput().isTerminal) }
        if once { return .table }
        return options.prometheus == nil ? .lines(nil) : .nothing
    }

    private func run(_ watchers: [MQTTWatcher], _ board: MQTTSharedBoard, _ printed: Printed) async throws {
        let once = once
        let keepsBoard =
            switch printed {
            case .lines, .json: once || options.prometheus != nil
            case .table, .summary, .nothing: true
            }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, watcher) in watchers.enumerated() {
                group.addTask {
                    try await watcher.run(once: once) { report in
                        switch report {
                        case .notice(let text): Self.notify(text)
                        case .event(let event):
                            if keepsBoard { board.state.withLock { $0.receive(event, from: number) } }
                            guard !once else { return }
                            switch printed {
                            case .lines(let format): try Self.write(MQTTWatchLine(event), format)
                            case .json: try Output.standard.write(MQTTWatchLine(event).json + "\n")
                            case .summary(let isLive): try board.printSummary(isLive: isLive)
                            case .table, .nothing: break
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        guard once else { return }
        let state = board.state.withLock { $0 }
        switch printed {
        case .lines(let format): for line in state.lines { try Self.write(line, format) }
        case .json: for line in state.lines { try Output.standard.write(line.json + "\n") }
        case .table: try Output.standard.write(state.table(width: TerminalStyle.standardOutput().width))
        case .summary: try Output.standard.write(state.summary)
        case .nothing: break
        }
    }

    private func forget(_ watchers: [MQTTWatcher]) async throws {
        let silence = options.silentFor.map { Duration.seconds($0) }
        for watcher in watchers {
            let forgotten = try await watcher.forgetLost(silentFor: silence) { report in
                if case .notice(let text) = report { Self.notify(text) }
            }
            for topic in forgotten {
                try Output.standard.write("\(MQTTWatchLine.name(topic)) forgotten\n")
            }
        }
    }

    private static func write(_ line: MQTTWatchLine, _ format: MQTTWatchFormat?) throws {
        try Output.standard.write((format?.text(for: line) ?? line.text) + "\n")
    }

    private static func notify(_ text: String) {
        try? Output.error.write("\(Program.name): \(text)\n")
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

    static func shown(_ text: String) -> String { SafeText.singleLine(text, limit: 200) }
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
