/// A receiver of the statuses of an ``ActivityTracker``, one at a time and in order.
///
/// The tracker calls it without holding a lock, on the thread that made a change or on one that is delivering other changes just
/// then. It may call the tracker back: what it changes is delivered after it has returned.
package protocol ActivityStatusReceiver<Value>: AnyObject, Sendable {
    associatedtype Value: Sendable

    /// The status has changed; the first call brings the present one.
    func receive(_ status: ActivityStatus<Value>)

    /// The tracker is deallocated; there will be no more.
    func finish()
}

/// A receiver, and the last status that it got.
final class ActivityStatusSubscriber<Value: Sendable>: @unchecked Sendable {
    // `@unchecked`: only the one thread that delivers reads and writes `last`; that role is handed on under the tracker's lock.

    let receiver: any ActivityStatusReceiver<Value>
    private var last: ActivityStatus<Value>?

    init(_ receiver: any ActivityStatusReceiver<Value>) {
        self.receiver = receiver
    }

    /// Delivers a status unless it is the same as the one before.
    func offer(_ status: ActivityStatus<Value>, areEqual: (Value, Value) -> Bool) {
        if let last, last.isLoading == status.isLoading {
            switch (last.associatedValue, status.associatedValue) {
            case (nil, nil): return
            case (let old?, let new?) where areEqual(old, new): return
            default: break
            }
        }
        last = status
        receiver.receive(status)
    }
}
