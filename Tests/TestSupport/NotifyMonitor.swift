import Foundation
import IndicatorTesting
import IndicatorThreads

/// Records the calls of a notification server, with `busctl monitor`.
package final class NotifyMonitor: Sendable {
    /// A call of `Notify` or `CloseNotification`.
    package struct Call: Sendable, Hashable {
        package var member: String
        /// The notification that is replaced or closed; 0 for a new one.
        package var identifier: Int
        package var applicationName = ""
        package var icon = ""
        package var summary = ""
        package var body = ""
        package var timeout = 0
        /// The hints, as JSON.
        package var hints: [String: String] = [:]
    }

    private let bus: PrivateBus
    private let daemon: Daemon
    private let marks = Locked(0)

    /// Starts to record; returns when it does.
    package init(_ bus: PrivateBus) async throws {
        let monitor = try Daemon(
            "busctl",
            [
                "--address=\(bus.address)", "monitor", "--json=short",
                "--match=type='method_call',interface='org.freedesktop.Notifications'",
                "--match=type='method_call',interface='org.indicator.Test'",
                "--match=type='signal',interface='org.freedesktop.Notifications',member='NotificationClosed'",
            ],
            package: "systemd"
        )
        self.bus = bus
        daemon = monitor
        let isListening = try await eventually {
            _ = try await bus.busctl("call", "org.freedesktop.DBus", "/", "org.indicator.Test", "Listening")
            return monitor.output.contains("Listening")
        }
        guard isListening else { throw NotListening(error: monitor.errors) }
    }

    /// Returns when everything is recorded that the bus received before.
    package func catchUp() async throws {
        let mark = marks.withLock { marks in
            marks += 1
            return "Mark\(marks)End"
        }
        _ = try await bus.busctl("call", "org.freedesktop.DBus", "/", "org.indicator.Test", mark)
        guard await eventually({ daemon.output.contains(mark) }) else { throw NotListening(error: daemon.errors) }
    }

    /// The members and arguments of all messages so far.
    private var messages: [(member: String, payload: [Any])] {
        daemon.output.split(separator: "\n").compactMap { line in
            guard
                let message = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let member = message["member"] as? String,
                let payload = (message["payload"] as? [String: Any])?["data"] as? [Any]
            else { return nil }
            return (member, payload)
        }
    }

    /// The reasons for which the server has closed notifications so far, also if it has reported them to one client.
    package var closingReasons: [Int] {
        messages.compactMap { $0.member == "NotificationClosed" ? $0.payload.last as? Int : nil }
    }

    /// The calls so far.
    package var calls: [Call] {
        messages.compactMap { member, payload in
            switch (member, payload.count) {
            case ("CloseNotification", 1):
                return Call(member: member, identifier: payload[0] as? Int ?? -1)
            case ("Notify", 8):
                let hints = payload[6] as? [String: [String: Any]] ?? [:]
                return Call(
                    member: member,
                    identifier: payload[1] as? Int ?? -1,
                    applicationName: payload[0] as? String ?? "",
                    icon: payload[2] as? String ?? "",
                    summary: payload[3] as? String ?? "",
                    body: payload[4] as? String ?? "",
                    timeout: payload[7] as? Int ?? 0,
                    hints: hints.mapValues { "\($0["type"] ?? "") \($0["data"] ?? "")" }
                )
            default:
                return nil
            }
        }
    }

    /// The calls of `Notify`.
    package var shown: [Call] { calls.filter { $0.member == "Notify" } }

    /// The complete output so far, for messages.
    package var output: String { daemon.output }

    private struct NotListening: Error, CustomStringConvertible {
        var error: String
        var description: String { "busctl monitor does not listen: \(error)" }
    }
}
