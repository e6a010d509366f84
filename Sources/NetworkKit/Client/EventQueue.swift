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
        guard mustPost, !isHere || postBatch() else { return }
        // What follows meanwhile is posted on another thread in any case.
        RequestThreads.run { [self] in while postBatch() {} }
    }

    /// Posts what waits. Returns whether more waits then.
    private func postBatch() -> Bool {
        for event in state.withLock({ exchange(&$0.events, with: []) }) { event() }
        return state.withLock { state in
            state.arePosted = !state.events.isEmpty
            return state.arePosted
        }
    }
}
