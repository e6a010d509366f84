/// What an ``ActivityTracker`` tells: whether anything is going on, and what.
public struct ActivityStatus<Value: Sendable>: Sendable {
    /// Whether any activity is in progress.
    public var isLoading: Bool

    /// The first value that is not `nil` in the order in which the activities in progress began; `nil` when none has one, and when
    /// none is in progress.
    public var associatedValue: Value?

    /// Makes a status, for tests and previews of what shows it.
    ///
    /// - Parameters:
    ///   - isLoading: whether any activity is in progress.
    ///   - associatedValue: the value of the first of them that has one.
    public init(isLoading: Bool, associatedValue: Value? = nil) {
        self.isLoading = isLoading
        self.associatedValue = associatedValue
    }
}

extension ActivityStatus: Equatable where Value: Equatable {}
extension ActivityStatus: Hashable where Value: Hashable {}
