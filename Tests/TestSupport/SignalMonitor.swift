/// Records the signals of one name on a private bus, with `gdbus monitor`.
package final class SignalMonitor: Sendable {
    private let daemon: Daemon

    /// Starts to record; returns when it does. The name must have an owner.
    package init(_ bus: PrivateBus, name: String) async throws {
        let monitor = try Daemon(
            "gdbus",
            ["monitor", "--address", bus.address, "--dest", name],
            package: "libglib2.0-bin"
        )
        daemon = monitor
        _ = await eventually { monitor.output.contains("is owned by") }
        guard let owner = monitor.output.firstMatch(of: /is owned by (\S+)/)?.1 else {
            throw NotListening(output: monitor.output, error: monitor.errors)
        }
        // gdbus prints this before it subscribes.
        let rule = #"type=\'signal\',sender=\'\#(owner)\'"#
        var error = ""
        let isListening = try await eventually {
            let rules = try await bus.busctl(
                "call",
                "org.freedesktop.DBus",
                "/org/freedesktop/DBus",
                "org.freedesktop.DBus.Debug.Stats",
                "GetAllMatchRules"
            )
            error = rules.error
            return rules.output.contains(rule)
        }
        guard isListening else { throw NotListening(output: monitor.output, error: monitor.errors + error) }
    }

    /// The output so far.
    package var output: String { daemon.output }

    /// How many signals `PropertiesChanged` were received so far.
    package var count: Int { output.split(separator: "\n").count { $0.contains(".PropertiesChanged (") } }

    /// Waits until the output contains `text`.
    package func shows(_ text: String) async -> Bool { await eventually { output.contains(text) } }

    private struct NotListening: Error, CustomStringConvertible {
        var output: String
        var error: String
        var description: String { "gdbus monitor does not listen: \(output) \(error)" }
    }
}
