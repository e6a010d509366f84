import BackendConfiguration
import DisplayText
import Foundation
import IndicatorCore
import IndicatorThreads

/// A connection to a message bus, and the calls that wait for a reply on it. Only used on one thread.
///
/// In the app that is the thread of the bus, which waits for it together with its work: an idle connection
/// causes no wake-ups.
final class BusLoop: PollSource {
    /// Handles the reply to a call, or its failure.
    typealias Completion = (Result<BusMessage, BusError>) -> Void

    private struct Call {
        var reply: BusPendingReply
        /// When the call fails with ``BusError/noReply``; `nil` for never.
        var deadline: SuspendingClock.Instant?
        var completion: Completion
    }

    let address: String
    /// Called at the end of each turn.
    var onTurn: () -> Void = {}
    /// When to turn in any case, besides the time limits of calls.
    var nextDeadline: () -> SuspendingClock.Instant? = { nil }

    private let connection: BusConnection
    private var calls: [Call] = []
    /// Whether the connection has ended, and its calls have failed.
    private var hasEnded = false

    /// Connects to a bus, without calling `Hello`.
    init(address: String, onSignal: @escaping (BusMessage) -> Void = { _ in }) throws(BusError) {
        self.address = address
        connection = try BusConnection(address: address, onSignal: onSignal)
    }

    /// A call of a method of the bus itself.
    static func busCall(_ member: String, _ arguments: [BusValue] = [], expectsReply: Bool = true) -> BusMessage? {
        .call(
            "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: member,
            arguments,
            expectsReply: expectsReply
        )
    }

    /// Sets the unique name that the bus returned from `Hello`.
    func setUniqueName(_ name: String) throws(BusError) {
        if !connection.setUniqueName(name) { throw .invalidName }
    }

    /// Calls a method. The reply arrives during a turn.
    ///
    /// - Parameters:
    ///   - message: the call; `nil` for one with an invalid name, which fails.
    ///   - timeLimit: how long the peer may take to answer; `nil` for no limit.
    ///   - completion: handles the reply.
    func call(
        _ message: BusMessage?,
        within timeLimit: Duration?,
        completion: @escaping Completion
    ) {
        guard let message else { return completion(.failure(.invalidName)) }
        guard let reply = connection.sendWithReply(message) else { return completion(.failure(.disconnected)) }
        calls.append(Call(reply: reply, deadline: timeLimit.map { .now + $0 }, completion: completion))
    }

    /// Whether a call waits for a reply.
    var hasCalls: Bool { !calls.isEmpty }

    var isConnected: Bool { connection.isConnected }
    /// Whether there are unsent messages.
    var hasOutgoing: Bool { connection.hasOutgoing }
    /// The number of unsent bytes.
    var outgoingBytes: Int { connection.outgoingBytes }

    /// Queues a message in memory until the bus accepts it. One with an invalid name is dropped.
    func send(_ message: BusMessage?) {
        if let message { connection.send(message) }
    }

    /// Serves the object at `path`.
    func serve(path: String, _ handler: @escaping (BusMessage) -> Void) { connection.serve(path: path, handler) }

    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        // After the end was handled, there is nothing to wait for until this is removed.
        if hasEnded { return ([], nil) }
        guard isConnected, !connection.mustDispatch else { return (connection.descriptors, .now) }
        return (connection.descriptors, (calls.compactMap(\.deadline) + [nextDeadline()].compactMap(\.self)).min())
    }

    func turn(_ descriptors: [pollfd]) {
        connection.handle(descriptors)
        // Limited, so that a flood of messages does not block everything else.
        for _ in 0..<64 where connection.mustDispatch {
            connection.dispatch()
            // After each message, so that a signal after a reply is handled after it.
            finishCalls()
        }
        finishCalls(until: .now)
        if !isConnected, !connection.mustDispatch {
            hasEnded = true
            failCalls()
        }
        onTurn()
    }

    /// Fails the calls that wait: libdbus does not, if the connection ends before the bus has accepted it.
    private func failCalls() {
        let failed = calls
        calls = []
        for call in failed { call.completion(.failure(.disconnected)) }
    }

    /// Completes the answered calls and, if `now` is given, those whose time limit has ended.
    private func finishCalls(until now: SuspendingClock.Instant? = nil) {
        var finished: [(Completion, Result<BusMessage, BusError>)] = []
        calls.removeAll { call in
            if let reply = call.reply.take() {
                let error = reply.error.map { connection.isConnected ? $0 : .disconnected }
                finished.append((call.completion, error.map { .failure($0) } ?? .success(reply)))
                return true
            }
            guard let now, let deadline = call.deadline, deadline <= now else { return false }
            finished.append((call.completion, .failure(.noReply)))
            return true
        }
        for (completion, result) in finished { completion(result) }
    }
}
