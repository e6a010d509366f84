#if DBus
import TestSupport

@testable import DesktopBackends

/// A server of job views on a private bus, scripted.
final class JobServer: Sendable {
    /// How it answers `requestView`.
    enum Answer {
        case view, error, wrongType, nothing
        /// After `release()`.
        case late
    }

    struct View: Sendable {
        var owner: String
        var desktopEntry: String
        var isKillable: Bool
        var properties: [String: BusValue]
        var updateCount = 0
        /// The code and the message of its end.
        var end: (code: UInt32, message: String)?

        /// Its title, percentage and message, and `[x]` if it can be cancelled.
        fileprivate var text: String {
            var texts = [properties["title"]?.text ?? ""]
            if case .uint32(let percent)? = properties["percent"], percent > 0 { texts.append("\(percent)%") }
            if let message = properties["infoMessage"]?.text, !message.isEmpty { texts.append("(\(message))") }
            return (texts + (isKillable ? ["[x]"] : [])).joined(separator: " ")
        }
    }

    private struct State: Sendable {
        var views: [View] = []
        var requestCount = 0
        var strayCallCount = 0
    }

    private final class Record: @unchecked Sendable {
        let state = Locked(State())
        // `@unchecked`: used by the peer's thread only.
        var late: [BusMessage?] = []
    }

    private let peer: BusPeer
    private let recorded = Record()
    private let bus: PrivateBus

    init(on bus: PrivateBus, answer: Answer = .view) throws {
        self.bus = bus
        let views = (0..<3000).map { "/org/kde/notificationmanager/jobs/JobView_\($0)" }
        peer = try BusPeer(name: "org.kde.JobViewServer", path: "/JobViewServer", more: views, address: bus.address) {
            [recorded] message in
            Self.answer(message, recorded, answer)
        }
    }

    /// The views so far, in order.
    var views: [View] { recorded.state.withLock { $0.views } }

    /// How often a view was requested.
    var requestCount: Int { recorded.state.withLock { $0.requestCount } }

    /// How many calls were for a view that this server does not have.
    var strayCallCount: Int { recorded.state.withLock { $0.strayCallCount } }

    /// Those that have not ended.
    var open: [View] { views.filter { $0.end == nil } }

    /// What is shown now: the texts of the open views, or `nothing`.
    var shown: String { open.isEmpty ? "nothing" : open.map(\.text).joined(separator: ", ") }

    /// Sends the answers that are late.
    func release() async throws { try await call("Release") }

    /// Presses the button of the last view.
    func cancel() async throws { try await call("Cancel") }

    private func call(_ member: String) async throws {
        _ = try await bus.busctl("call", "org.kde.JobViewServer", "/JobViewServer", "org.indicator.Test", member)
    }

    private static func answer(_ message: BusMessage, _ recorded: Record, _ answer: Answer) -> [BusMessage?] {
        var state = recorded.state.withLock { $0 }
        // Only this thread changes it.
        defer { recorded.state.withLock { [state] in $0 = state } }
        let arguments = message.arguments
        func index() -> Int? {
            let index = message.path.flatMap { $0.split(separator: "_").last }.flatMap { Int($0) }
            if let index, state.views.indices.contains(index) { return index }
            state.strayCallCount += 1
            return nil
        }
        switch message.member {
        case "requestView":
            state.requestCount += 1
            guard case .properties(let hints)? = arguments.last, case .int32(let capabilities) = arguments[1] else {
                return [message.reply(BusError(name: "org.freedesktop.DBus.Error.InvalidArgs", text: ""))]
            }
            var view = View(
                owner: message.sender ?? "",
                desktopEntry: arguments[0].text ?? "",
                isKillable: capabilities == 1,
                properties: [:]
            )
            for hint in hints { view.properties[hint.name] = hint.value }
            let path = "/org/kde/notificationmanager/jobs/JobView_\(state.views.count)"
            switch answer {
            case .view, .late: state.views.append(view)
            default: break
            }
            switch answer {
            case .view: return [message.reply([.objectPath(path)])]
            case .late:
                recorded.late.append(message.reply([.objectPath(path)]))
                return []
            case .error: return [message.reply(BusError(name: "org.freedesktop.DBus.Error.Failed", text: "full"))]
            case .wrongType: return [message.reply([.uint32(7)])]
            case .nothing: return []
            }
        case "update":
            guard let index = index(), case .properties(let properties)? = arguments.first else { return [] }
            for property in properties { state.views[index].properties[property.name] = property.value }
            state.views[index].updateCount += 1
            return []
        case "terminate":
            guard let index = index(), case .uint32(let code)? = arguments.first else { return [] }
            state.views[index].end = (code, arguments[1].text ?? "")
            return []
        case "Release":
            defer { recorded.late = [] }
            return recorded.late + [message.reply([])]
        case "Cancel":
            let signal = BusMessage.signal(
                path: "/org/kde/notificationmanager/jobs/JobView_\(state.views.count - 1)",
                interface: "org.kde.JobViewV3",
                member: "cancelRequested",
                []
            )
            return [signal, message.reply([])]
        default: return [message.reply(BusError(name: "org.freedesktop.DBus.Error.UnknownMethod", text: ""))]
        }
    }
}
#endif
