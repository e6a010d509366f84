import IndicatorThreads

/// Posts the events of a request in order.
final class EventQueue: Sendable {
    /// Calls observers.
    typealias Event = @Sendable () -> Void

    /// The events that are not posted yet, and whether a thread posts them.
    private let state = Locked((events: [Event](), arePosted: false))

    /// Adds an event, which ``post(here:)`` posts.
    func add(_ event: @escaping Event) { state.withLock { $0.events.append(event) } }

    /// Posts the events on another thread, or on this one. A thread that is posting events posts these, too: no lock is
    /// held while observers run, and the events stay in order.
    func post(here isHere: Bool) {
        let mustPost = state.withLock { !$0.events.isEmpty && !exchange(&$0.arePosted, with: true) }
        guard mustPost else { return }
        if isHere { nextBatch()?.forEach { $0() } }
        // What follows meanwhile is posted on another thread in any case.
        guard let next = nextBatch() else { return }
        RequestThreads.run { [self] in
            var batch: [Event]? = next
            while let events = batch {
                events.forEach { $0() }
                batch = nextBatch()
            }
        }
    }

    private func nextBatch() -> [Event]? {
        state.withLock { state in
            state.arePosted = !state.events.isEmpty
            return state.arePosted ? exchange(&state.events, with: []) : nil
        }
    }
}
