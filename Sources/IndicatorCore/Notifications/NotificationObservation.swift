import Foundation

/// The observation of a library's notifications, as ``IndicatorManager/observe(_:in:)`` returns it.
public final class NotificationObservation: Sendable {
    private struct State: @unchecked Sendable {
        // `@unchecked`: the tokens are opaque and only handed back to their notification center, which any thread may do.
        var tokens: [any NSObjectProtocol] = []
        var isCancelled = false
    }

    private let center: NotificationCenter
    private let state = Locked(State())

    init(center: NotificationCenter) {
        self.center = center
    }

    /// Whether the observation has been cancelled.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func add(_ name: Notification.Name, handler: @escaping @Sendable (Notification) -> Void) {
        let token = State(tokens: [center.addObserver(forName: name, object: nil, queue: nil, using: handler)])
        state.withLock { $0.tokens += token.tokens }
    }

    /// Stops observing. Tasks that are in progress stay so until they are gone or ended otherwise.
    public func cancel() {
        let tokens = state.withLock { state in
            state.isCancelled = true
            return State(tokens: state.tokens.take())
        }
        for token in tokens.tokens { center.removeObserver(token) }
    }
}

extension Array {
    /// Empties the array and returns what it held.
    fileprivate mutating func take() -> Self {
        defer { self = [] }
        return self
    }
}
