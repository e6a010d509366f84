import Foundation
package import IndicatorThreads

/// What a backend has to show: the sequence of updates that ``IndicatorBackend/show(_:)`` gets.
///
/// Asking for the next update says that the last one is shown. The sequence ends when the backend is removed or the
/// manager is shut down.
///
/// A backend with a connection waits for more than updates, with ``next(orReady:until:)``:
///
/// ```swift
/// func show(_ updates: IndicatorUpdates) async throws {
///     let socket = try Socket(path)
///     while let event = await updates.next(orReady: [PolledDescriptor(socket.descriptor)]) {
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
public struct IndicatorUpdates: AsyncSequence, Sendable {
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
    ///   - descriptors: open descriptors. They must stay open meanwhile.
    ///   - deadline: a time of the system's clock; `nil` for none.
    /// - Returns: the event; `nil` at the end.
    public func next(
        orReady descriptors: [PolledDescriptor] = [],
        until deadline: SuspendingClock.Instant? = nil
    ) async -> IndicatorEvent? {
        await wait(orReady: descriptors, until: deadline, asks: true)
    }

    /// Waits without saying anything about the last update: before the first one, for what is needed to show it, or
    /// for an answer to what was sent for it.
    ///
    /// - Parameters:
    ///   - descriptors: open descriptors. They must stay open meanwhile.
    ///   - deadline: a time of the system's clock; `nil` for none.
    /// - Returns: the event, which is no update; `nil` if the backend should end.
    public func wait(
        orReady descriptors: [PolledDescriptor] = [],
        until deadline: SuspendingClock.Instant? = nil
    ) async -> IndicatorEvent? {
        await wait(orReady: descriptors, until: deadline, asks: false)
    }

    private func wait(
        orReady descriptors: [PolledDescriptor],
        until deadline: SuspendingClock.Instant?,
        asks: Bool
    ) async -> IndicatorEvent? {
        let thread = source.thread
        let left = deadline.map { Swift.max(SuspendingClock.now.duration(to: $0).wholeNanoseconds, 0) }
        let call = left.map { thread.call(at: ServiceThread.now + $0, wake) }
        defer { if let call { thread.cancelCall(call) } }
        if descriptors.isEmpty { return await source.wait(attempt, asks: asks) }
        return await withTaskExecutorPreference(thread) {
            let poll = DescriptorWait(descriptors, onReady: wake)
            guard thread.add(poll) else {
                // Without a descriptor for the wait, the backend looks itself, ten times a second.
                let event = await wait(orReady: [], until: .now + .milliseconds(100), asks: asks)
                if case .due = event { return .ready(descriptors) }
                return event
            }
            defer { thread.remove(poll) }
            let event = await source.wait(attempt, asks: asks)
            guard case .due = event else { return event }
            // A deadline that has passed hides no descriptor.
            let ready = poll.ready.isEmpty ? PolledDescriptor.ready(of: descriptors) : poll.ready
            return ready.isEmpty ? event : .ready(ready)
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

    /// Makes an iterator. All iterators share the updates.
    public func makeAsyncIterator() -> Iterator { Iterator(updates: self) }

    /// Iterates the updates.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let updates: IndicatorUpdates

        /// Says that the last update is shown, and waits for the next one; `nil` at the end.
        public mutating func next() async -> IndicatorUpdate? { await updates.next() }
    }
}

/// What a backend waits for. See ``IndicatorUpdates/next(orReady:until:)``.
public enum IndicatorEvent: Sendable {
    /// There is something to show.
    case update(IndicatorUpdate)
    /// These descriptors are ready.
    case ready([PolledDescriptor])
    /// The deadline has come, or ``IndicatorUpdates/wake()`` was called.
    case due
}

/// A descriptor to wait for, or one that is ready.
public struct PolledDescriptor: Sendable, Hashable {
    /// The number.
    public var number: Int32
    /// Whether to wait until it can be read, or has ended; whether it can be, or has.
    public var reads: Bool
    /// Whether to wait until it can be written; whether it can be.
    public var writes: Bool

    /// Makes a descriptor to wait for.
    public init(_ number: Int32, reads: Bool = true, writes: Bool = false) {
        (self.number, self.reads, self.writes) = (number, reads, writes)
    }

    fileprivate var request: pollfd {
        pollfd(fd: number, events: Int16((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), revents: 0)
    }

    /// Those that are ready now.
    fileprivate static func ready(of descriptors: [Self]) -> [Self] {
        var requests = descriptors.map(\.request)
        poll(&requests, nfds_t(requests.count), 0)
        return requests.filter { $0.revents != 0 }.map(Self.init)
    }

    fileprivate init(_ answer: pollfd) {
        number = answer.fd
        reads = answer.revents & ~Int16(POLLOUT) != 0
        writes = answer.revents & Int16(POLLOUT) != 0
    }
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
    /// What is ready.
    private(set) var ready: [PolledDescriptor] = []

    init(_ descriptors: [PolledDescriptor], onReady: @escaping () -> Void) {
        (requests, self.onReady) = (descriptors.map(\.request), onReady)
    }

    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) { (requests, nil) }

    func turn(_ descriptors: [pollfd]) {
        requests = []
        ready = descriptors.filter { $0.revents != 0 }.map(PolledDescriptor.init)
        onReady()
    }
}
