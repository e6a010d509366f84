import Foundation
package import Logging

/// Passes messages to another handler on a thread of its own, in their order: a thread that logs never waits for it.
///
/// A handler of standard streams writes while it holds stdio's lock, for which `exit` waits. So for one of those the
/// thread first waits until standard error is writable; a terminal that was stopped by Ctrl-S is not. At most
/// ``capacity`` messages wait; how many were lost is logged.
struct BackgroundLogHandler: LogHandler {
    /// How many messages wait, of all handlers, and how many were lost.
    private static let counts = Locked((waiting: 0, lost: 0))
    private static let thread = ServiceThread(name: "ind-log", idleTime: .zero)

    static var capacity: Int { 256 }

    private var logger: Logger
    private let usesStandardStreams: Bool

    fileprivate init(_ logger: Logger) {
        self.logger = logger
        usesStandardStreams = Self.usesStandardStreams(logger.handler)
    }

    /// Whether a handler, or one that it passes messages to, writes to a standard stream.
    ///
    /// What objects have is not read, because another thread may change it; a logger copies its own before a change.
    static func usesStandardStreams(_ value: Any, depth: Int = 0) -> Bool {
        if let logger = value as? Logger { return usesStandardStreams(logger.handler, depth: depth) }
        if value is StreamLogHandler || value is any StandardStreamLogHandler { return true }
        return depth < 4 && !(type(of: value) is AnyClass)
            && Mirror(reflecting: value).children.contains { usesStandardStreams($0.value, depth: depth + 1) }
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
        let isKept = Self.counts.withLock { counts in
            let isKept = counts.waiting < Self.capacity
            if isKept { counts.waiting += 1 } else { counts.lost += 1 }
            return isKept
        }
        guard isKept else { return }
        Self.thread.call(at: .min) { [logger, usesStandardStreams] in
            if usesStandardStreams {
                var request = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
                poll(&request, 1, -1)
            }
            let write = Logger.writing.withLock { $0 }
            write { logger.handler.log(event: event) }
            let lostCount = Self.counts.withLock { counts in
                counts.waiting -= 1
                return counts.waiting == 0 ? exchange(&counts.lost, with: 0) : 0
            }
            if lostCount > 0 { logger.warning("The log was blocked; \(lostCount) messages were lost.") }
        }
    }

    /// Returns when the messages so far have been written.
    static func flush() async {
        guard counts.withLock({ $0.waiting > 0 }) else { return }
        await withCheckedContinuation { continuation in thread.call(at: .min) { continuation.resume() } }
    }
}

/// A handler that writes to a standard stream, other than swift-log's own.
package protocol StandardStreamLogHandler: LogHandler {}

extension Logger {
    /// Calls the function that writes a message of this package; what draws on the terminal removes its lines for it.
    package static let writing = Locked<@Sendable (() -> Void) -> Void>({ $0() })

    /// A logger that passes its messages to this one's handler on another thread. See ``BackgroundLogHandler``.
    package var inBackground: Logger {
        handler is BackgroundLogHandler ? self : Logger(label: label) { _ in BackgroundLogHandler(self) }
    }
}
