#if DBus
import Foundation
import IndicatorCore
package import IndicatorThreads

/// A connection to a message bus, driven by the thread that creates it.
///
/// The thread sleeps in `poll` until a message arrives, a time limit ends, or ``WakeUp/wake()`` is called: an idle
/// connection causes no wake-ups. Other threads may only use the wake-up.
package final class BusLoop {
    /// Handles the reply to a call, or its failure.
    package typealias Completion = (Result<BusMessage, BusError>) -> Void

    private struct Call {
        var reply: BusPendingReply
        /// When the call fails with ``BusError/noReply``; `nil` for never.
        var deadline: ContinuousClock.Instant?
        var completion: Completion
    }

    private let wakeUp: WakeUp
    private let connection: BusConnection
    private var calls: [Call] = []
    /// The completions of work on other threads, by number.
    private var foreignWork: [Int: () -> Void] = [:]
    private var lastForeignWork = 0
    private let finishedWork = FinishedWork()

    /// The numbers of the work that has ended on other threads.
    private final class FinishedWork: Sendable {
        let numbers = Locked<[Int]>([])
    }

    /// Connects to a bus and calls `Hello`.
    ///
    /// - Parameters:
    ///   - address: the D-Bus address of the bus.
    ///   - wakeUp: wakes and ends the loop.
    ///   - timeLimit: how long the bus may take to answer.
    ///   - onSignal: handles incoming signals.
    package init(
        address: String,
        wakeUp: WakeUp,
        timeLimit: Duration = .seconds(3),
        onSignal: @escaping (BusMessage) -> Void = { _ in }
    ) throws(BusError) {
        self.wakeUp = wakeUp
        connection = try BusConnection(address: address, onSignal: onSignal)
        guard case .string(let name)? = try callBus("Hello", timeLimit: timeLimit).first else { throw .disconnected }
        connection.setUniqueName(name)
    }

    /// Calls a method of the bus itself and waits for the reply, while serving the connection.
    @discardableResult
    package func callBus(
        _ member: String,
        _ arguments: [BusValue] = [],
        timeLimit: Duration = .seconds(3)
    ) throws(BusError) -> [BusValue] {
        try call(
            .call(
                "org.freedesktop.DBus",
                path: "/org/freedesktop/DBus",
                interface: "org.freedesktop.DBus",
                member: member,
                arguments
            ),
            timeLimit: timeLimit
        )
    }

    /// Calls a method and waits for the reply, while serving the connection.
    package func call(_ message: BusMessage, timeLimit: Duration = .seconds(3)) throws(BusError) -> [BusValue] {
        var result: Result<BusMessage, BusError>?
        call(message, within: timeLimit) { result = $0 }
        while result == nil {
            if wakeUp.isStopped { throw .cancelled }
            try turn()
        }
        return try result?.get().arguments ?? []
    }

    /// Calls a method. Returns immediately; the reply arrives during ``turn(until:)``.
    ///
    /// - Parameters:
    ///   - message: the call.
    ///   - timeLimit: how long the peer may take to answer; `nil` for no limit.
    ///   - completion: handles the reply.
    package func call(_ message: BusMessage, within timeLimit: Duration?, completion: @escaping Completion) {
        guard let reply = connection.sendWithReply(message) else { return completion(.failure(.disconnected)) }
        calls.append(Call(reply: reply, deadline: timeLimit.map { .now + $0 }, completion: completion))
    }

    /// A closure that work on another thread calls once, at its end. Its value is passed to `body` during
    /// ``turn(until:)``. ``settle(within:)`` waits for it.
    func completion<Value: Sendable>(_ body: @escaping (Value) -> Void) -> @Sendable (Value) -> Void {
        lastForeignWork += 1
        let number = lastForeignWork
        let result = ForeignResult<Value>()
        foreignWork[number] = {
            if let value = result.value.withLock({ $0 }) { body(value) }
        }
        return { [finishedWork, wakeUp] value in
            result.value.withLock { $0 = value }
            finishedWork.numbers.withLock { $0.append(number) }
            wakeUp.wake()
        }
    }

    private final class ForeignResult<Value: Sendable>: Sendable {
        let value = Locked<Value?>(nil)
    }

    /// Ends the current ``turn(until:)``, or the next one, from any thread.
    var wake: @Sendable () -> Void { { [wakeUp] in wakeUp.wake() } }

    /// Whether the session should end.
    var isStopped: Bool { wakeUp.isStopped }

    /// The number of unsent bytes.
    package var outgoingBytes: Int { connection.outgoingBytes }

    /// Queues a message in memory until the bus accepts it.
    package func send(_ message: BusMessage) { connection.send(message) }

    /// Serves the object at `path`.
    func serve(path: String, _ handler: @escaping (BusMessage) -> Void) { connection.serve(path: path, handler) }

    /// Sends all queued messages, and waits for the replies to all calls and for work on other threads, for at most
    /// `limit`.
    func settle(within limit: Duration) {
        let deadline = ContinuousClock.now + limit
        while connection.hasOutgoing || !calls.isEmpty || !foreignWork.isEmpty, ContinuousClock.now < deadline {
            guard (try? turn(until: deadline)) != nil else { return }
        }
    }

    /// Sleeps until a message arrives, ``WakeUp/wake()`` is called, or `deadline`; handles received messages.
    ///
    /// Throws if the connection has ended.
    package func turn(until deadline: ContinuousClock.Instant? = nil) throws(BusError) {
        guard connection.isConnected else { throw .disconnected }
        var descriptors = connection.descriptors
        descriptors.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
        let next = (calls.compactMap(\.deadline) + [deadline].compactMap(\.self)).min()
        let limit = connection.mustDispatch ? 0 : WakeUp.milliseconds(until: next)
        if poll(&descriptors, nfds_t(descriptors.count), limit) > 0 {
            if descriptors.removeLast().revents != 0 { wakeUp.clear() }
            connection.handle(descriptors)
        }
        // Limited, so that a flood of messages does not block everything else.
        for _ in 0..<64 where connection.mustDispatch {
            connection.dispatch()
            // After each message, so that a signal after a reply is handled after it.
            finishCalls()
        }
        finishCalls(until: .now)
        let finished = finishedWork.numbers.withLock { numbers in
            defer { numbers = [] }
            return numbers
        }
        for number in finished { foreignWork.removeValue(forKey: number)?() }
        guard connection.isConnected else { throw .disconnected }
    }

    /// Completes the answered calls and, if `now` is given, those whose time limit has ended.
    private func finishCalls(until now: ContinuousClock.Instant? = nil) {
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
#endif
