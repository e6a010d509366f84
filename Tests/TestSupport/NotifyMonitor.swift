/// Records the calls of a notification server.
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

    private let monitor: BusMonitor

    /// Starts to record; returns when it does.
    package init(_ bus: PrivateBus) async throws {
        monitor = try await BusMonitor(
            bus,
            matching: "type='method_call',interface='org.freedesktop.Notifications'",
            "type='signal',interface='org.freedesktop.Notifications',member='NotificationClosed'"
        )
    }

    /// Returns when everything is recorded that the bus received before.
    package func catchUp() async throws { try await monitor.catchUp() }

    /// The reasons for which the server has closed notifications so far, also if it has reported them to one client.
    package var closingReasons: [Int] {
        monitor.messages.compactMap { $0.member == "NotificationClosed" ? $0.arguments.last as? Int : nil }
    }

    /// The calls so far.
    package var calls: [Call] {
        monitor.messages.compactMap { message in
            let (member, payload) = (message.member, message.arguments)
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
            default: return nil
            }
        }
    }

    /// The calls of `Notify`.
    package var shown: [Call] { calls.filter { $0.member == "Notify" } }

    /// The complete output so far, for messages.
    package var output: String { monitor.output }
}

extension PrivateBus {
    /// A bus with dunst.
    package static func withServer() async throws -> (bus: PrivateBus, server: NotificationServer) {
        let bus = try await PrivateBus()
        return (bus, try await NotificationServer(on: bus))
    }

    /// A bus with dunst, and a monitor of what is sent to it.
    package static func withNotifications() async throws -> (
        bus: PrivateBus, server: NotificationServer, monitor: NotifyMonitor
    ) {
        let bus = try await PrivateBus()
        return (bus, try await NotificationServer(on: bus), try await NotifyMonitor(bus))
    }
}
