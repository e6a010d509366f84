import Foundation

/// Relates a clock, such as an indicator's, to the wall clock, which the user or the network may set at any time.
package struct WallClock: Sendable {
    /// The wall-clock time of the clock's origin.
    private(set) var origin: Date
    private let date: @Sendable () -> Date

    init(at now: Duration, date: @escaping @Sendable () -> Date = { Date() }) {
        origin = date() - now / .seconds(1)
        self.date = date
    }

    /// Corrects the origin if the wall clock was set by more than 0.1 seconds. Returns by how many seconds.
    mutating func follow(_ now: () -> Duration) -> TimeInterval {
        let before = now()
        let origin = date() - before / .seconds(1)
        let shift = origin.timeIntervalSince(self.origin)
        // If the thread had to wait between the readings, they do not belong together.
        guard abs(shift) > 0.1, now() - before < .milliseconds(10) else { return 0 }
        self.origin = origin
        return shift
    }
}
