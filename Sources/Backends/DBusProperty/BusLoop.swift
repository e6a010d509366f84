#if DBus
import Foundation
import IndicatorCore

/// A connection to a message bus, driven by the thread that it is made on.
///
/// The thread sleeps in `poll` until the bus has something to say or somebody calls ``BusWakeUp/wake()``: an idle connection
/// costs no wake-up. Nothing but the wake-up may be used by other threads.
package final class BusLoop {
    /// The unique name that the bus gave the connection.
    package private(set) var uniqueName = ""

    private let wakeUp: BusWakeUp
    private let connection: BusConnection

    /// Connects to a bus and says hello.
    ///
    /// - Parameters:
    ///   - address: the D-Bus address of the bus.
    ///   - wakeUp: what wakes the loop, and ends it.
    ///   - timeLimit: how long the bus may take to answer.
    ///   - onSignal: what is done with the signals that come in.
    package init(
        address: String,
        wakeUp: BusWakeUp,
        timeLimit: Duration = .seconds(3),
        onSignal: @escaping (BusMessage) -> Void = { _ in }
    ) throws(BusError) {
        self.wakeUp = wakeUp
        connection = try BusConnection(address: address, onSignal: onSignal)
        guard case .string(let name)? = try callBus("Hello", timeLimit: timeLimit).first else { throw .disconnected }
        uniqueName = name
        connection.setUniqueName(name)
    }

    /// Calls a method of the bus itself and waits for the answer, while the connection goes on being served.
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

    /// Calls a method and waits for the answer, while the connection goes on being served.
    package func call(_ message: BusMessage, timeLimit: Duration = .seconds(3)) throws(BusError) -> [BusValue] {
        let deadline = ContinuousClock.now + timeLimit
        guard let pending = connection.sendWithReply(message) else { throw .disconnected }
        while true {
            if let reply = pending.take() {
                if let error = reply.error { throw connection.isConnected ? error : .disconnected }
                return reply.arguments
            }
            if wakeUp.isStopped { throw .cancelled }
            if ContinuousClock.now >= deadline { throw .noReply }
            try turn(until: deadline)
        }
    }

    /// How many bytes wait for the bus to take them.
    package var outgoingBytes: Int { connection.outgoingBytes }

    /// Sends a message; it waits in memory until the bus takes it.
    package func send(_ message: BusMessage) { connection.send(message) }

    /// Serves the object at `path`.
    func serve(path: String, _ handler: @escaping (BusMessage) -> Void) { connection.serve(path: path, handler) }

    /// Sends what waits, for at most `limit`: whoever says goodbye is heard to the end.
    func flush(within limit: Duration) {
        let deadline = ContinuousClock.now + limit
        while connection.hasOutgoing, ContinuousClock.now < deadline {
            guard (try? turn(until: deadline)) != nil else { return }
        }
    }

    /// Sleeps until there is something to do, ``BusWakeUp/wake()`` is called, or `deadline`; deals with what has come in.
    ///
    /// Throws when the connection is gone.
    package func turn(until deadline: ContinuousClock.Instant? = nil) throws(BusError) {
        guard connection.isConnected else { throw .disconnected }
        var descriptors = connection.descriptors
        descriptors.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
        let timeout = connection.mustDispatch ? 0 : Self.milliseconds(until: deadline)
        if poll(&descriptors, nfds_t(descriptors.count), timeout) > 0 {
            if descriptors.removeLast().revents != 0 { wakeUp.clear() }
            connection.handle(descriptors)
        }
        connection.dispatch()
        guard connection.isConnected else { throw .disconnected }
    }

    /// Rounded up, so that a loop does not spin through the last millisecond.
    private static func milliseconds(until deadline: ContinuousClock.Instant?) -> Int32 {
        guard let deadline else { return -1 }
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return 0 }
        let (seconds, attoseconds) = left.components
        return Int32(clamping: seconds &* 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}

/// Wakes the thread of a ``BusLoop``, from any other.
package final class BusWakeUp: Sendable {
    /// Readable when somebody has called.
    let descriptor: Int32

    private let stopped = Locked(false)

    /// Throws when the process has no descriptor left.
    package init() throws(BusError) {
        descriptor = makeEventDescriptor()
        guard descriptor >= 0 else {
            throw BusError(
                name: "org.freedesktop.DBus.Error.LimitsExceeded",
                text: "eventfd: \(String(cString: strerror(errno)))"
            )
        }
    }

    deinit {
        close(descriptor)
    }

    /// Whether the loop is to come to its end.
    package var isStopped: Bool { stopped.withLock { $0 } }

    /// Has the loop look at what there is to do.
    package func wake() {
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    /// Has the loop come to its end.
    package func stop() {
        stopped.withLock { $0 = true }
        wake()
    }

    fileprivate func clear() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
#endif
