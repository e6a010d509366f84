package import ArgumentParser
import IndicatorBackends
import IndicatorThreads

/// `watch`: all indicators on a bus and their changes.
package struct WatchCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print every indicator on the session bus as it appears, changes and vanishes.",
        discussion: """
            The indicators are the bus names org.activityindicator.Indicator1.*, as a panel sees them. Prints a line \
            for each existing indicator, then one whenever an indicator appears, changes or vanishes, until interrupted.

            With --json, each line is an object: {"event": "appeared"|"changed"|"finished"|"vanished", "name": ...}, \
            with all properties unless the indicator has vanished, and the names of the changed ones. "progress" is \
            null when it is unknown. "finished" has the label, outcome, message and seconds of an activity that has \
            ended.

            With --format, prints one line for all apps, and another one whenever it changes, at most ten a second: \
            for waybar, i3bar, polybar, tmux, or as plain text. It is empty while no indicator is shown. The outcome \
            of work stays for five seconds.

            With --mqtt, watches the indicators of all machines on an MQTT broker. Also prints finished activities, \
            'lost' for an indicator whose process or connection died, and 'vanished' for one that the broker no longer \
            has. With --json, each line is {"event": "appeared"|"changed"|"finished"|"lost"|"vanished", "host": ..., \
            "app": ..., "instance": ..., "state": {...}}. With --once, prints a table of what there is now, or with \
            --json a line for each indicator; "appeared" or "lost".

            EXAMPLES
              \(Program.name) watch
              \(Program.name) watch --mqtt mqtt://broker.example --app backup
              \(Program.name) watch --mqtt mqtt://a.example,mqtt://b.example --host 'web-*' --once
              \(Program.name) watch --mqtt mqtt://broker.example --prometheus 127.0.0.1:9469
              \(Program.name) watch --json | jq 'select(.visible)'
              \(Program.name) watch --format tmux --once
            """
    )

    private static let panels = "waybar, i3bar, polybar, tmux or text"

    @Option(help: ArgumentHelp("The bus: session, system, or a D-Bus address.", valueName: "bus"))
    var bus = "session"

    @Flag(help: "Print JSON Lines.")
    var json = false

    @Option(
        help: ArgumentHelp(
            """
            Print one line for a panel: \(Self.panels). With --mqtt, the format of a line: {event} {host} {app} \
            {instance} {state} {count} {label} {progress}.
            """,
            valueName: "format"
        )
    )
    var format: String?

    @Flag(help: "Print what there is now, and exit.")
    var once = false

    @OptionGroup(title: "MQTT")
    var mqtt: MQTTWatchOptions

    package init() {}

    package func validate() throws {
        if json, format != nil { throw ValidationError("--json cannot be combined with --format") }
        try mqtt.validate(format: format, printsJSON: json, once: once)
        #if DBus
        if mqtt.mqtt.isEmpty, let format, PanelFormat(rawValue: format) == nil {
            let name = SafeText.singleLine(format, limit: 40)
            throw ValidationError("--format is '\(name)'; it must be \(Self.panels)")
        }
        do throws(MessageBusError) {
            _ = try DBusAddress(bus)
        } catch {
            throw ValidationError("\(error)")
        }
        #endif
    }

    #if DBus
    package func run() async throws {
        #if MQTT
        if !mqtt.mqtt.isEmpty {
            return try await MQTTWatch(options: mqtt, format: format, printsJSON: json, once: once).run()
        }
        #endif
        let address = try DBusAddress(bus)
        try await Output.guarding {
            do {
                let events = IndicatorWatcher.events(on: address)
                if let format = format.flatMap(PanelFormat.init(rawValue:)) {
                    try await Self.show(events, as: format, once: once)
                } else {
                    try await Self.list(events, asJSON: json, once: once)
                }
            } catch let error as MessageBusError {
                try? Output.error.write("\(Program.name): error: \(error)\n")
                throw ExitCode.failure
            }
        }
    }

    /// Prints a line for each event.
    private static func list(
        _ events: AsyncThrowingStream<IndicatorWatcher.Event, any Error>,
        asJSON json: Bool,
        once: Bool
    ) async throws {
        // The last line of each indicator: it is unchanged after a change of a property that is not printed.
        var lines: [String: String] = [:]
        for try await event in events {
            if case .dropped(let count) = event {
                let reason = "because the output was blocked"
                try? Output.error.write("\(Program.name): \(count) events were not printed, \(reason)\n")
            }
            if event == .listed, once { return }
            guard let indicator = WatchedIndicator(event) else { continue }
            let line = json ? try indicator.json : indicator.text
            if !json, indicator.event != .finished, lines.updateValue(line, forKey: indicator.name) == line { continue }
            if indicator.event == .vanished { lines[indicator.name] = nil }
            try Output.standard.write(line + "\n")
        }
    }

    /// Prints the lines of a panel.
    private static func show(
        _ events: AsyncThrowingStream<IndicatorWatcher.Event, any Error>,
        as format: PanelFormat,
        once: Bool
    ) async throws {
        let time = TimeSource.reading(SuspendingClock())
        let timer = DeadlineTimer(time: time)
        let panel = Locked(Panel())
        // An element when there may be a line to write.
        let (inputs, continuation) = AsyncThrowingStream<Void, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(1)
        )
        let forwarding = Task {
            do {
                for try await event in events {
                    panel.withLock { $0.receive(event, at: time.now) }
                    continuation.yield()
                }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        defer { forwarding.cancel() }
        if !once { try Output.standard.write(format.header) }
        var version: UInt64 = 0
        do {
            for try await _ in inputs {
                let (line, wakeAt) = panel.withLock { $0.next(at: time.now) }
                if let line { try Output.standard.write(format.text(of: line, isOnly: once)) }
                if line != nil, once { return }
                version += 1
                timer.set(wakeAt, version: version) { _ in continuation.yield() }
            }
        } catch let error as MessageBusError {
            // The panel keeps the last line.
            if !once { try Output.standard.write(format.text(of: PanelLine())) }
            throw error
        }
    }
    #else
    package func run() async throws {
        #if MQTT
        if !mqtt.mqtt.isEmpty {
            return try await MQTTWatch(options: mqtt, format: format, printsJSON: json, once: once).run()
        }
        #endif
        try? Output.error.write("\(Program.name): error: this build has no D-Bus support; build with the trait DBus\n")
        throw ExitCode.failure
    }
    #endif
}
