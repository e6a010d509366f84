/// What to do with the indicator: nothing, or one or two changes of its visibility, in order.
///
/// There are two when a deadline that was already due is followed by the event that was reported.
public struct VisibilityChanges: Sendable, Hashable, RandomAccessCollection {
    /// The indicator was shown or hidden.
    public struct Element: Sendable, Hashable {
        /// Whether it is shown from now on.
        public var isVisible: Bool
        /// The time of the change by the rules: for a delay that ran out its deadline, however late it was noticed.
        public var instant: Duration
    }

    private var first: Element?
    private var second: Element?

    /// Nothing to do.
    static var none: Self { Self() }

    private init() {}

    init(isVisible: Bool, at instant: Duration) {
        first = Element(isVisible: isVisible, instant: instant)
    }

    /// The index of the first change.
    public var startIndex: Int { 0 }

    /// One more than the index of the last change.
    public var endIndex: Int { first == nil ? 0 : second == nil ? 1 : 2 }

    /// The change at a position.
    public subscript(position: Int) -> Element {
        guard let element = position == 0 ? first : position == 1 ? second : nil else {
            preconditionFailure("index \(position) is out of the range \(startIndex)..<\(endIndex)")
        }
        return element
    }

    static func + (earlier: Self, later: Self) -> Self {
        guard let head = earlier.first else { return later }
        guard let tail = later.first else { return earlier }
        precondition(earlier.second == nil && later.second == nil, "an event changes the visibility twice at most")
        var both = Self()
        both.first = head
        both.second = tail
        return both
    }
}
