#if DBus
import Foundation
import IndicatorThreads
import TestSupport
import Testing

@testable import DesktopBackends

/// A process on a bus that owns a name and answers calls, on a thread of its own.
final class BusPeer: Sendable {
    private let wakeUp: WakeUp
    private let hasEnded = DispatchSemaphore(value: 0)
    private let mustEnd = DispatchSemaphore(value: 0)

    /// Starts it. It owns the name when this returns.
    ///
    /// - Parameter more: further paths to serve.
    init(
        name: String,
        path: String,
        more: [String] = [],
        address: String,
        answer: @escaping @Sendable (BusMessage) -> [BusMessage?]
    ) throws {
        guard let wakeUp = WakeUp() else { throw BusError.disconnected }
        self.wakeUp = wakeUp
        let hasStarted = DispatchSemaphore(value: 0)
        let problem = Locked<BusError?>(nil)
        _ = ThreadStarter.start(named: "peer") { [hasEnded, mustEnd] in
            defer { hasEnded.signal() }
            do throws(BusError) {
                let loop = try BlockingBus(address: address, wakeUp: wakeUp)
                for path in [path] + more {
                    loop.serve(path: path) { [unowned loop] message in
                        for message in answer(message) { if let message { loop.send(message) } }
                    }
                }
                try loop.callBus("RequestName", [.string(name), .uint32(0)])
                hasStarted.signal()
                while mustEnd.wait(timeout: .now()) == .timedOut { try loop.turn() }
            } catch {
                problem.withLock { $0 = error }
                hasStarted.signal()
            }
        }
        hasStarted.wait()
        if let problem = problem.withLock({ $0 }) { throw problem }
    }

    deinit {
        mustEnd.signal()
        wakeUp.wake()
        hasEnded.wait()
    }
}
#endif
