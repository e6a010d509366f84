/// One piece of work in progress, reference-counted. It ends at ``end()``, or when the last reference goes.
///
/// The same as ``Activity``, for the places where a noncopyable value cannot go. Any thread may use it.
public final class ManagedActivity: Sendable {
    private let handle: ActivityHandle
    /// One thread may update the activity while another ends it.
    private let manager: IndicatorManager

    /// Begins an activity.
    ///
    /// - Parameters:
    ///   - label: a short text of what is going on.
    ///   - progress: how much is done, 0…1.
    ///   - indicator: the indicator that is to show it.
    public init(_ label: String? = nil, progress: Double? = nil, in indicator: IndicatorManager = .shared) {
        handle = indicator.beginHandle(label: label, progress: progress)
        manager = indicator
    }

    /// Whether the activity has ended.
    public var hasEnded: Bool { handle.hasEnded }

    /// Changes what is told of the work. What is `nil` stays as it was; without effect when the activity has ended.
    ///
    /// - Parameters:
    ///   - label: a short text of what is going on; an empty one takes the label away.
    ///   - progress: how much is done, 0…1; values outside are limited to that, and `.nan` takes the progress away.
    public func update(label: String? = nil, progress: Double? = nil) {
        handle.update(label: label, progress: progress)
    }

    /// Ends the activity; without effect when it has ended.
    public func end() {
        handle.end()
    }

    deinit {
        handle.end()
    }
}
