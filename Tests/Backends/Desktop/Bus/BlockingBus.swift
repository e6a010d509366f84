#if DBus
import TestSupport

@testable import DesktopBackends

/// A connection to a bus on the thread that creates it, whose calls block.
final class BlockingBus {
    private let loop: LibDBusConnection
    private let wakeUp: WakeUp

    init(address: String, wakeUp: WakeUp? = WakeUp()) throws(BusError) {
        guard let wakeUp else { throw .disconnected }
        self.wakeUp = wakeUp
        loop = try LibDBusConnection(address: address)
        guard case .string(let name)? = try callBus("Hello").first else { throw .disconnected }
        try loop.setUniqueName(name)
    }

    @discardableResult
    func callBus(_ member: String, _ arguments: [BusValue] = []) throws(BusError) -> [BusValue] {
        try call(BusMessage.busCall(member, arguments))
    }

    func call(_ message: BusMessage?, timeLimit: Duration = .seconds(3)) throws(BusError) -> [BusValue] {
        var result: Result<BusMessage, BusError>?
        loop.call(message, within: timeLimit) { result = $0 }
        while result == nil { try turn() }
        return try result?.get().arguments ?? []
    }

    func send(_ message: BusMessage?) { loop.send(message) }

    func serve(path: String, _ handler: @escaping (BusMessage) -> Void) { loop.serve(path: path, handler) }

    /// Sleeps until a message arrives or the wake-up ends it, and handles what has arrived.
    func turn() throws(BusError) {
        guard loop.isConnected else { throw .disconnected }
        var (descriptors, deadline) = loop.interest()
        descriptors.append(pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0))
        poll(&descriptors, nfds_t(descriptors.count), WakeUp.milliseconds(until: deadline))
        if descriptors.removeLast().revents != 0 { wakeUp.clear() }
        loop.turn(descriptors)
    }
}
#endif
