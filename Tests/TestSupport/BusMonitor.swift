/// Records the messages on a private bus, with `busctl monitor`.
package final class BusMonitor: Sendable {
    /// A message that was recorded.
    package struct Message {
        package var sender: String
        package var member: String
        /// Its arguments, as in JSON.
        package var arguments: [Any]
    }

    private static let interface = "org.indicator.Test"

    private let bus: PrivateBus
    private let daemon: Daemon
    private let marks = Locked(0)

    /// Starts to record what matches one of the rules, or everything if there is none; returns when it does.
    package init(_ bus: PrivateBus, matching rules: String...) async throws {
        let own = rules.isEmpty ? [] : ["type='method_call',interface='\(Self.interface)'"]
        let monitor = try Daemon(
            "busctl",
            ["--address=\(bus.address)", "monitor", "--json=short"] + (rules + own).map { "--match=\($0)" },
            package: "systemd"
        )
        self.bus = bus
        daemon = monitor
        // What busctl prints at its start depends on its release, and is not the moment from which it records.
        let isListening = try await eventually {
            try await Self.call("Listening", on: bus)
            return monitor.output.contains("Listening")
        }
        if !isListening { throw Self.notListening(monitor) }
    }

    /// Returns when everything is recorded that the bus received before.
    package func catchUp() async throws {
        let mark = marks.withLock { marks in
            marks += 1
            return "Mark\(marks)End"
        }
        try await Self.call(mark, on: bus)
        guard await daemon.prints(mark) else { throw Self.notListening(daemon) }
    }

    private static func call(_ member: String, on bus: PrivateBus) async throws {
        _ = try await bus.busctl("call", "org.freedesktop.DBus", "/", interface, member)
    }

    /// The messages so far.
    package var messages: [Message] {
        daemon.output.split(separator: "\n").compactMap { line in
            guard
                let message = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let sender = message["sender"] as? String,
                let member = message["member"] as? String
            else { return nil }
            let payload = message["payload"] as? [String: Any]
            return Message(sender: sender, member: member, arguments: payload?["data"] as? [Any] ?? [])
        }
    }

    /// The complete output so far, for messages.
    package var output: String { daemon.output }

    private static func notListening(_ monitor: Daemon) -> FixtureError {
        FixtureError("busctl monitor does not listen: \(monitor.errors)")
    }
}
