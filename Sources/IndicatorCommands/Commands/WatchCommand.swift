package import ArgumentParser
import IndicatorBackends

/// `watch`: every indicator on a bus, as it changes.
package struct WatchCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print every indicator on the session bus as it appears, changes and goes away.",
        discussion: """
            The indicators are the names org.activityindicator.Indicator1.*, of which this is what a panel sees. It \
            prints a line for each one that is there, then one for each that appears, changes or goes away, until it \
            is interrupted.

            With --json, a line is an object: {"event": "appeared"|"changed"|"vanished", "name": ...}, with all \
            properties unless it has vanished, and with the names of those that have changed. "progress" is null when \
            it is not known.

            With --mqtt, it follows every indicator of every machine on an MQTT broker, and prints who has died, what \
            has finished, and who has vanished: the broker has nothing of it any more. {"event": \
            "appeared"|"changed"|"finished"|"lost"|"vanished", "host": ..., "app": ..., "instance": ..., "state": \
            {...}} is a line with --json.

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
            throw ValidationError("--json does not go with --format or --forget")
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
