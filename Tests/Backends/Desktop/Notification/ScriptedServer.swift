#if DBus
import TestSupport

@testable import DesktopBackends

private let (name, path) = (NotificationSession.interface, NotificationSession.path)

/// A notification server on a private bus that behaves like those that Debian cannot run without a screen.
final class ScriptedServer: NotificationScreen {
    /// What is special about it.
    enum Manner: Sendable, Equatable {
        case standard
        /// The name of its program. `gnome-shell` refuses changes by other connections than the first one, as GNOME
        /// does since version 42.
        case named(String)
        /// It says less about itself than the specification demands.
        case terse
        /// It shows the notification 1 of another app, and gives 100 to the next one.
        case busy
        /// It answers `Notify` so; an empty answer is an error.
        case answering([BusValue])
        /// It never answers `Notify`.
        case silent
        /// It never answers anything.
        case hanging
        /// Its user closes a notification just before each update.
        case closingUpdated
        /// It does not report that a notification was closed.
        case notReporting
    }

    /// What its thread refers to: not the server, whose release waits for the end of that thread.
    private final class Record: Sendable {
        let manner: Manner
        /// `owners` are the notifications that are shown, each with the unique name of the connection that showed it.
        let state = Locked((lastIdentifier: UInt32(0), owners: [UInt32: String](), refusedCount: 0))

        private static let refusal = BusError.standard("InvalidArgs", "Invalid notification ID")

        init(_ manner: Manner) { self.manner = manner }

        func answer(_ message: BusMessage) -> [BusMessage?]? {
            if manner == .hanging { return [] }
            let number: UInt32? =
                switch message.arguments.first {
                case .uint32(let number): number
                default: nil
                }
            switch (message.member, number) {
            case ("GetServerInformation", _):
                let name = if case .named(let name) = manner { name } else { "tests" }
                let texts = [name, "tests", "1", "1.2"].dropLast(manner == .terse ? 1 : 0)
                return [message.reply(texts.map { .string($0) })]
            case ("GetCapabilities", _): return [message.reply([.strings(["body"])])]
            case ("Notify", _):
                guard case .uint32(let replaced) = message.arguments[1] else { return [] }
                return notify(message, replacing: replaced)
            case ("CloseNotification", let identifier?):
                if isRefused(identifier, message.sender) { return [message.reply(Self.refusal)] }
                let report = close(identifier, for: 3)
                return [manner == .notReporting ? nil : report, message.reply([])]
            case ("Dismiss", let reason?):
                return state.withLock { $0.owners.keys.sorted() }.map { close($0, for: reason) } + [message.reply([])]
            default: return nil
            }
        }

        private func notify(_ message: BusMessage, replacing replaced: UInt32) -> [BusMessage?] {
            if manner == .silent { return [] }
            let isAnError = manner == .answering([])
            if isAnError || isRefused(replaced, message.sender) { return [message.reply(Self.refusal)] }
            if case .answering(let answer) = manner { return [message.reply(answer)] }
            let closed = manner == .closingUpdated && replaced != 0 ? close(replaced, for: 2) : nil
            let identifier = state.withLock { state in
                if state.owners[replaced] == nil { state.lastIdentifier += 1 }
                let identifier = state.owners[replaced] == nil ? state.lastIdentifier : replaced
                state.owners[identifier] = message.sender ?? ""
                return identifier
            }
            return [closed, message.reply([.uint32(identifier)])]
        }

        private func isRefused(_ identifier: UInt32, _ sender: String?) -> Bool {
            state.withLock { state in
                let owner = state.owners[identifier] ?? sender
                let isForeign = manner == .named("gnome-shell") && owner != sender
                if isForeign { state.refusedCount += 1 }
                return isForeign
            }
        }

        private func close(_ identifier: UInt32, for reason: UInt32) -> BusMessage {
            state.withLock { $0.owners[identifier] = nil }
            let arguments: [BusValue] = [.uint32(identifier), .uint32(reason)]
            return .signal(path: path, interface: name, member: "NotificationClosed", arguments)
        }
    }

    private let bus: PrivateBus
    private let record: Record
    private let peer = Locked<BusPeer?>(nil)

    /// Starts it. It owns its name when this returns, unless another one does.
    init(on bus: PrivateBus, _ manner: Manner = .standard) throws {
        (self.bus, record) = (bus, Record(manner))
        if manner == .busy { record.state.withLock { ($0.lastIdentifier, $0.owners) = (99, [1: ""]) } }
        let started = try BusPeer(name: name, path: path, address: bus.address) { [record] in record.answer($0) }
        peer.withLock { $0 = started }
    }

    /// The identifiers of the notifications that are shown.
    var shown: Set<UInt32> { record.state.withLock { Set($0.owners.keys) } }
    var displayedCount: Int { shown.count }

    /// The identifier that was given last.
    var lastIdentifier: UInt32 { record.state.withLock { $0.lastIdentifier } }

    /// How many calls of `Notify` it has received.
    var notifyCount: Int { peer.withLock { $0 }?.calls.count { $0 == "Notify" } ?? 0 }

    /// How many calls of other connections it has refused.
    var refusedCount: Int { record.state.withLock { $0.refusedCount } }

    /// Executes `stop`, or `close` with a reason: closes all notifications, and reports that.
    func execute(_ words: [Substring]) async throws {
        if words == ["stop"] { return stop() }
        let result = try await bus.busctl("call", name, path, name, "Dismiss", "u", String(words[1]))
        #expect(result.status == 0, "\(result.error)")
    }

    /// Ends it, with what it shows.
    func stop() {
        _ = peer.withLock { $0.take() }
        record.state.withLock { $0.owners = [:] }
    }
}
#endif
