import Foundation

/// What a backend has to show: the sequence of updates that ``IndicatorBackend/show(_:)`` gets.
///
/// Asking for the next update says that the last one is shown. The sequence ends when the backend is removed or the
/// manager is shut down.
///
/// A backend with a connection waits for more than updates, with ``next(orReadable:orWritable:until:)``:
///
/// ```swift
/// func show(_ updates: IndicatorUpdates) async throws {
///     let socket = try Socket(path)
///     while let event = await updates.next(orReadable: [socket.descriptor]) {
///         switch event {
///         case .update(let update): try socket.send(update.snapshot.label ?? "")
///         case .ready: if try socket.receive() == "stop" { updates.control.requestCancellation() }
///         case .due: break
///         }
///     }
/// }
/// ```
///
/// What a library reports on another thread is passed on with ``wake()``. One task at a time waits.
public struct IndicatorUpdates: AsyncSequence, AsyncIteratorProtocol, Sendable {
    /// What the sequence consists of.
    public typealias Element = IndicatorUpdate

    private let source: any UpdateSource
    private let attempt: Int

    /// The handle to the indicator.
    public var control: IndicatorControl { source.control }

    package init(from source: any UpdateSource, attempt: Int) {
        (self.source, self.attempt) = (source, attempt)
    }

    /// Says that the last update is shown, and waits for the next one; `nil` at the end.
    public func next() async -> IndicatorUpdate? {
        while let event = await source.wait(attempt, asks: true) {
            if case .update(let update) = event { return update }
        }
        return nil
    }

    /// Says that the last update is shown, and waits for the next one, or for something else, whichever is first.
    ///
    /// - Parameters:
    ///   - readable: open descriptors that can be read, or have ended. They must stay open meanwhile.
    ///   - writable: the same of those that can be written.
    ///   - deadline: a time of the system's clock; `nil` for none.
    /// - Returns: the event; `nil` at the end.
    public func next(
        orReadable readable: [Int32] = [],
        orWritable writable: [Int32] = [],
        until deadline: SuspendingClock.Instant? = nil
    ) async -> IndicatorEvent? {
        await wait(readable, writable, deadline, asks: true)
    }

    /// Waits without saying anything about the last update: before the first one, for what is needed to show it, or
    /// for an answer to what was sent for it. The parameters are those of ``next(orReadable:orWritable:until:)``.
    ///
    /// - Returns: the event, which is no update; `nil` if the backend should end.
    public func wait(
        orReadable readable: [Int32] = [],
        orWritable writable: [Int32] = [],
        until deadline: SuspendingClock.Instant? = nil
    ) async -> IndicatorEvent? {
        await wait(readable, writable, deadline, asks: false)
    }

    private func wait(
        _ readable: [Int32],
        _ writable: [Int32],
        _ deadline: SuspendingClock.Instant?,
        asks: Bool
    ) async -> IndicatorEvent? {
        let thread = source.thread
        let left = deadline.map { Swift.max(SuspendingClock.now.duration(to: $0).wholeNanoseconds, 0) }
        let call = left.map { thread.call(at: ServiceThread.now + $0, wake) }
        defer { if let call { thread.cancelCall(call) } }
        func requests(_ descriptors: [Int32], _ event: Int32) -> [pollfd] {
            descriptors.map { pollfd(fd: $0, events: Int16(event), revents: 0) }
        }
        var requests = requests(readable, POLLIN) + requests(writable, POLLOUT)
        if requests.isEmpty { return await source.wait(attempt, asks: asks) }
        return await withTaskExecutorPreference(thread) {
            let wait = DescriptorWait(requests, onReady: wake)
            // Without a descriptor for the wait, it looks ten times a second.
            let look = thread.add(wait) ? nil : thread.call(at: ServiceThread.now + 100_000_000, wake)
            defer {
                thread.remove(wait)
                if let look { thread.cancelCall(look) }
            }
            let event = await source.wait(attempt, asks: asks)
            // A deadline that has passed hides no descriptor.
            if case .due = event, poll(&requests, nfds_t(requests.count), 0) > 0 { return .ready }
            return event
        }
    }

    /// Ends a current wait for an event, or the next one, with ``IndicatorEvent/due``. From any thread.
    public func wake() { source.wake(attempt) }

    /// Says that the last update needs not be delivered again if the backend fails now, because it was shown, or
    /// because what it reported counts as lost.
    public func consume() { source.consume(attempt) }

    /// Whether the backend is being removed or the manager is shut down: what takes long should end soon. On any
    /// thread.
    public var isEnding: Bool { source.isEnding(attempt) }

    /// Reports that the surface is not available, of a backend that has not asked for an update yet and goes on to wait
    /// for it. Until it asks, its state is ``BackendState/unavailable(reason:)``, and there is no time limit.
    ///
    /// - Returns: after what time to throw the error, so that the backend is called again.
    @discardableResult
    public func reportUnavailable(_ error: any Error) -> Duration { source.reportUnavailable("\(error)", attempt) }

    /// The sequence itself: all iterators share the updates.
    public func makeAsyncIterator() -> Self { self }
}

/// What a backend waits for. See ``IndicatorUpdates/next(orReadable:orWritable:until:)``.
public enum IndicatorEvent: Sendable {
    /// There is something to show.
    case update(IndicatorUpdate)
    /// A descriptor is ready. Of several, it may be any.
    case ready
    /// The deadline has come, or ``IndicatorUpdates/wake()`` was called.
    case due
}

/// Where a backend's updates come from. Called from any thread; what concerns an attempt that has ended has no effect.
package protocol UpdateSource: AnyObject, Sendable {
    var control: IndicatorControl { get }
    /// The thread on which the backend runs.
    var thread: ServiceThread { get }
    /// Suspends the backend until an event.
    ///
    /// - Parameter asks: whether the last update is shown, and the event may be the next one.
    func wait(_ attempt: Int, asks: Bool) async -> IndicatorEvent?
    func wake(_ attempt: Int)
    func consume(_ attempt: Int)
    func isEnding(_ attempt: Int) -> Bool
    func reportUnavailable(_ reason: String, _ attempt: Int) -> Duration
}

/// Waits for descriptors. Only used on the thread.
private final class DescriptorWait: PollSource, @unchecked Sendable {
    // `@unchecked`: only used on the thread.

    /// Empty after the first turn: it waits once.
    private var requests: [pollfd]
    private let onReady: () -> Void

    init(_ requests: [pollfd], onReady: @escaping () -> Void) { (self.requests, self.onReady) = (requests, onReady) }

    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) { (requests, nil) }

    func turn(_ descriptors: [pollfd]) {
        requests = []
        onReady()
    }
}
