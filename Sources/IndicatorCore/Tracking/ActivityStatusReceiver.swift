/// Someone who is told the statuses of an ``ActivityTracker``, one at a time and in order.
///
/// The tracker calls it without holding a lock, on the thread that made a change or on one that is delivering other changes just
/// then. It may call the tracker back: what it changes is delivered after it has returned.
package protocol ActivityStatusReceiver<Value>: AnyObject, Sendable {
    associatedtype Value: Sendable

    /// The status has changed; the first call brings the present one.
    func receive(_ status: ActivityStatus<Value>)

    /// The tracker is gone; there will be no more.
    func finish()
}

/// A receiver that a tracker knows, and what it was told last.
final class ActivityStatusSubscriber<Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: only the one thread that delivers reads and writes `last`; that role is handed on under the tracker's lock.

    let receiver: any ActivityStatusReceiver<Value>
    private var last: ActivityStatus<Value>?

    init(_ receiver: any ActivityStatusReceiver<Value>) {
        self.receiver = receiver
    }

    /// Tells the status that was the present one when the receiver subscribed.
    func begin(with status: ActivityStatus<Value>) {
        last = status
        receiver.receive(status)
    }

    /// Tells a status unless it is the same as the one before. What comes before the first one is older than the subscription.
    func offer(_ status: ActivityStatus<Value>, areEqual: (Value, Value) -> Bool) {
        guard let last, !Self.isSame(last, status, areEqual: areEqual) else { return }
        self.last = status
        receiver.receive(status)
    }

    private static func isSame(
        _ old: ActivityStatus<Value>,
        _ new: ActivityStatus<Value>,
        areEqual: (Value, Value) -> Bool
    ) -> Bool {
        guard old.isLoading == new.isLoading else { return false }
        return switch (old.associatedValue, new.associatedValue) {
        case (nil, nil): true
        case (let old?, let new?): areEqual(old, new)
        default: false
        }
    }
}
