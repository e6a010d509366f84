import Foundation
import IndicatorThreads
package import Logging

/// Passes messages to another handler on a thread of its own, in their order: a thread that logs never waits for it.
///
/// Most handlers write to standard error while they hold stdio's lock, for which `exit` waits. So the thread first
/// waits until standard error is writable; a terminal that was stopped by Ctrl-S is not. At most ``capacity`` messages
/// wait; how many were lost is logged.
struct BackgroundLogHandler: LogHandler {
    /// The messages that wait, of all handlers.
    private struct State: Sendable {
        var outbox = Outbox<(@Sendable () -> Void)>()
        var lostCount = 0
    }

    static var capacity: Int { 256 }

    private static let state = Locked(State())
    private static let thread = ServiceThread(name: "ind-log", idleTime: .zero)

    private var logger: Logger

    fileprivate init(_ logger: Logger) {
        self.logger = logger
    }

    var logLevel: Logger.Level {
        get { logger.logLevel }
        set { logger.logLevel = newValue }
    }

    var metadata: Logger.Metadata {
        get { logger.handler.metadata }
        set { logger.handler.metadata = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { logger[metadataKey: key] }
        set { logger[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        let handler = logger.handler
        let mustWrite = Self.state.withLock { state in
            if state.outbox.count < Self.capacity {
                state.outbox.append { handler.log(event: event) }
            } else {
                state.lostCount += 1
            }
            return state.outbox.beginDelivery()
        }
        guard mustWrite else { return }
        Task.detached(executorPreference: Self.thread) { [logger] in Self.writeAll(logger) }
    }

    private static func writeAll(_ logger: Logger) {
        while let messages = state.withLock({ $0.outbox.nextBatch() }) {
            var request = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
            poll(&request, 1, -1)
            for write in messages { write() }
            let lostCount = state.withLock { exchange(&$0.lostCount, with: 0) }
            if lostCount > 0 { logger.warning("The log was blocked; \(lostCount) messages were lost.") }
        }
    }
}

extension Logger {
    /// A logger that passes its messages to this one's handler on another thread. See ``BackgroundLogHandler``.
    package var inBackground: Logger {
        handler is BackgroundLogHandler ? self : Logger(label: label) { _ in BackgroundLogHandler(self) }
    }
}
