#if DBus
import TestSupport

@testable import DesktopBackends

/// A server of job views on a private bus, scripted.
final class JobServer: Sendable {
    /// How it answers `requestView`.
    enum Answer {
        case view
        /// After `release()`.
        case late
        case wrong(BusPeer.WrongAnswer)
    }

    struct View: Sendable {
        var desktopEntry: String
        var isKillable: Bool
        var properties: [String: BusValue]
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

    private static let viewPath = "/org/kde/notificationmanager/jobs/JobView_"

    private let peer: BusPeer
    private let record = Record()
    let bus: PrivateBus

    init(on bus: PrivateBus, answer: Answer = .view) throws {
        self.bus = bus
        let views = (0..<3000).map { "\(Self.viewPath)\($0)" }
        peer = try BusPeer(name: "org.kde.JobViewServer", path: "/JobViewServer", more: views, address: bus.address) {
            [record] call in
            record.answer(call, answer)
        }
    }

    /// The views so far, in order.
    var views: [View] { record.state.withLock { $0.views } }

    /// How often a view was requested.
    var requestCount: Int { peer.calls.count { $0 == "requestView" } }

    /// How many calls were for a view that this server does not have.
    var strayCallCount: Int { record.state.withLock { $0.strayCallCount } }

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

    private final class Record: @unchecked Sendable {
        let state = Locked((views: [View](), strayCallCount: 0))
        // `@unchecked`: used by the peer's thread only.
        private var late: [BusMessage?] = []

        func answer(_ call: BusMessage, _ answer: Answer) -> [BusMessage?]? {
            let arguments = call.arguments
            switch (call.member, arguments.first, arguments.last) {
            case ("requestView", .string(let entry)?, .properties(let hints)?):
                let properties = Dictionary(uniqueKeysWithValues: hints.map { ($0.name, $0.value) })
                let view = View(desktopEntry: entry, isKillable: arguments[1] == .int32(1), properties: properties)
                if case .wrong(let answer) = answer { return answer.replies(to: call) }
                let number = state.withLock { state in
                    state.views.append(view)
                    return state.views.count - 1
                }
                let reply = call.reply([.objectPath("\(JobServer.viewPath)\(number)")])
                guard case .late = answer else { return [reply] }
                late.append(reply)
                return []
            case ("update", .properties(let properties)?, _):
                change(call) { view in
                    for property in properties { view.properties[property.name] = property.value }
                }
                return []
            case ("terminate", .uint32(let code)?, _):
                change(call) { $0.end = (code, arguments[1].text ?? "") }
                return []
            case ("Release", _, _):
                defer { late = [] }
                return late + [call.reply([])]
            case ("Cancel", _, _):
                let path = state.withLock { "\(JobServer.viewPath)\($0.views.count - 1)" }
                let interface = "org.kde.JobViewV3"
                let signal = BusMessage.signal(path: path, interface: interface, member: "cancelRequested", [])
                return [signal, call.reply([])]
            default: return nil
            }
        }

        private func change(_ call: BusMessage, _ change: (inout View) -> Void) {
            let index = call.path.flatMap { Int($0.dropFirst(JobServer.viewPath.count)) } ?? .max
            state.withLock { state in
                if state.views.indices.contains(index) {
                    change(&state.views[index])
                } else {
                    state.strayCallCount += 1
                }
            }
        }
    }
}
#endif
