import FlyingSocks

/// A body that is sent evenly over a duration.
struct PacedBytes: AsyncBufferedSequence {
    typealias Element = UInt8

    /// The number of bytes.
    var count: Int
    /// The duration of sending them.
    var duration: Duration

    func makeAsyncIterator() -> Iterator {
        Iterator(count: count, duration: duration)
    }

    struct Iterator: AsyncBufferedIteratorProtocol {
        private static let parts = 40
        private let count: Int
        private let duration: Duration
        private let start = ContinuousClock.now
        private var sent = 0

        init(count: Int, duration: Duration) {
            self.count = count
            self.duration = duration
        }

        mutating func next() async throws -> UInt8? {
            try await nextBuffer(suggested: 1)?.first
        }

        mutating func nextBuffer(suggested: Int) async throws -> [UInt8]? {
            guard sent < count else { return nil }
            let size = Swift.min(Swift.max(suggested, count / Self.parts), count - sent)
            try await ContinuousClock().sleep(until: start + duration * (sent + size) / count)
            sent += size
            return [UInt8](repeating: UInt8(ascii: "."), count: size)
        }
    }
}
