import Foundation

/// Relates a clock, such as an indicator's, to the wall clock, which the user or the network may set at any time.
package struct WallClock: Sendable {
    /// The wall-clock time of the clock's origin.
    private(set) var origin: Date
    private let date: @Sendable () -> Date
    private let second: (@Sendable () -> Int)?
    /// Whether ``follow(_:isForced:)`` compares the clocks without being forced to.
    var isFollowed: Bool { second != nil }
    /// The second of the wall clock in which the two were last compared.
    private var compared = 0

    /// The clock of the system.
    ///
    /// - Parameters:
    ///   - now: the time of the clock.
    ///   - isFollowed: whether the clock runs with it, so that only setting it, or a suspend of the machine, changes
    ///     their difference.
    static func system(at now: Duration, isFollowed: Bool) -> Self {
        let second: @Sendable () -> Int = { time(nil) }
        return Self(at: now, date: { Date() }, second: isFollowed ? second : nil)
    }

    /// - Parameters:
    ///   - date: the wall clock.
    ///   - second: a cheap reading of it, by which ``follow(_:isForced:)`` compares the clocks once a second and after
    ///     each step of a second; `nil` if it is only forced to.
    init(at now: Duration, date: @escaping @Sendable () -> Date, second: (@Sendable () -> Int)?) {
        origin = date() - now / .seconds(1)
        self.date = date
        self.second = second
    }

    /// Corrects the origin if the wall clock was set by more than 0.1 seconds. Returns by how many seconds.
    @inline(__always)
    mutating func follow(_ now: () -> Duration, isForced: Bool) -> TimeInterval {
        if !isForced {
            guard let second = second?(), second != compared else { return 0 }
            compared = second
        }
        return compare(now)
    }

    /// Compares the clocks.
    private mutating func compare(_ now: () -> Duration) -> TimeInterval {
        // If the thread has to wait between the readings, they do not belong together.
        for _ in 0..<10 {
            let before = now()
            let origin = date() - before / .seconds(1)
            guard now() - before < .milliseconds(10) else { continue }
            let shift = origin.timeIntervalSince(self.origin)
            guard abs(shift) > 0.1 else { return 0 }
            self.origin = origin
            return shift
        }
        return 0
    }
}
