package import ArgumentParser
import IndicatorBackends

/// `watch`: all indicators on a bus and their changes.
package struct WatchCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print every indicator on the session bus as it appears, changes and vanishes.",
        discussion: """
            The indicators are the bus names org.activityindicator.Indicator1.*, as a panel sees them. Prints a line \
            for each existing indicator, then one whenever an indicator appears, changes or vanishes, until interrupted.

            With --json, each line is an object: {"event": "appeared"|"changed"|"vanished", "name": ...}, with all \
            properties unless the indicator has vanished, and the names of the changed ones. "progress" is null when \
            it is unknown.

            With --mqtt, watches the indicators of all machines on an MQTT broker. Also prints finished activities, \
            'lost' for an indicator whose process or connection died, and 'vanished' for one that the broker no longer \
            has. With --json, each line is {"event": "appeared"|"changed"|"finished"|"lost"|"vanished", "host": ..., \
            "app": ..., "instance": ..., "state": {...}}.

            EXAMPLES
              \(Program.name) watch
              \(Program.name) watch --mqtt mqtt://broker.example --app backup
              \(Program.name) watch --json | jq 'select(.visible)'
            """
    )

    @Option(help: ArgumentHelp("The bus: session, system, or a D-Bus address.", valueName: "bus"))
    var bus = "session"

    @Flag(help: "Print JSON Lines.")
    var json = false

    @OptionGroup(title: "MQTT")
    var mqtt: MQTTWatchOptions

    package init() {}

    package func validate() throws {
        if json, mqtt.format != nil || mqtt.forget {
            throw ValidationError("--json cannot be combined with --format or --forget")
        }
        #if DBus
        do throws(DBusPropertyError) {
            _ = try DBusAddress(bus)
        } catch {
            throw ValidationError("\(error)")
        }
        #endif
    }

    #if DBus
    package func run() async throws {
        #if MQTT
        if mqtt.mqtt != nil { return try await MQTTWatch(options: mqtt, printsJSON: json).run() }
        #endif
        let address = try DBusAddress(bus)
        try await Output.guarding {
            do {
                for try await event in IndicatorWatcher.events(on: address) {
                    let line = WatchedIndicator(event)
                    try Output.standard.write((json ? try line.json : line.text) + "\n")
                }
            } catch let error as DBusPropertyError {
                try? Output.error.write("\(Program.name): error: \(error)\n")
                throw ExitCode.failure
            }
        }
    }
    #else
    package func run() async throws {
        #if MQTT
        if mqtt.mqtt != nil { return try await MQTTWatch(options: mqtt, printsJSON: json).run() }
        #endif
        try? Output.error.write("\(Program.name): error: this build has no D-Bus support; build with the trait DBus\n")
        throw ExitCode.failure
    }
    #endif
}
