/// Records the signals of one name on a private bus, with `gdbus monitor`.
package final class SignalMonitor: Sendable {
    private let daemon: Daemon

    /// Starts to record; returns when it does. The name must have an owner.
    package init(_ bus: PrivateBus, name: String) async throws {
        let command = ["monitor", "--address", bus.address, "--dest", name]
        let monitor = try Daemon("gdbus", command, package: "libglib2.0-bin")
        daemon = monitor
        _ = await eventually { monitor.output.contains("is owned by") }
        guard let owner = monitor.output.firstMatch(of: /is owned by (\S+)/)?.1 else {
            throw FixtureError("gdbus monitor does not listen: \(monitor.output) \(monitor.errors)")
        }
        // gdbus prints this before it subscribes.
        let rule = #"type=\'signal\',sender=\'\#(owner)\'"#
        var error = ""
        let isListening = try await eventually {
            let (service, path) = ("org.freedesktop.DBus", "/org/freedesktop/DBus")
            let rules = try await bus.busctl("call", service, path, "\(service).Debug.Stats", "GetAllMatchRules")
            error = rules.error
            return rules.output.contains(rule)
        }
        if !isListening { throw FixtureError("gdbus monitor does not listen: \(monitor.output) \(error)") }
    }

    /// The output so far.
    package var output: String { daemon.output }

    /// How many signals `PropertiesChanged` were received so far.
    package var count: Int { output.split(separator: "\n").count { $0.contains(".PropertiesChanged (") } }

    /// Waits until the output contains `text`.
    package func shows(_ text: String) async -> Bool { await eventually { output.contains(text) } }
}
