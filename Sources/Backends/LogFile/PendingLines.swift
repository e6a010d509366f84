/// Lines that wait to be written, so many at most; beyond that the oldest go, and are counted.
///
/// The oldest, because what a log is asked first after an outage is how things stand now. The count takes their place:
/// in front of what is left, after what was written before.
package struct PendingLines: Sendable {
    /// How much may wait.
    package struct Limits: Sendable, Hashable {
        /// How many lines.
        package var lines: Int
        /// How many bytes, all lines together.
        package var bytes: Int

        package init(lines: Int = 4096, bytes: Int = 1 << 20) {
            self.lines = lines
            self.bytes = bytes
        }
    }

    package struct Line: Sendable, Hashable {
        package var bytes: [UInt8]
        package var time: LogTimestamp

        package init(bytes: [UInt8], time: LogTimestamp) {
            self.bytes = bytes
            self.time = time
        }
    }

    private let limits: Limits
    private var lines: [Line?] = []
    private var head = 0
    private var byteCount = 0

    /// What was lost and not yet told.
    package private(set) var loss: LogLoss?

    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// How many lines wait, the one that tells of a loss not counted.
    package var count: Int { lines.count - head }

    /// Whether nothing waits to be written.
    package var isEmpty: Bool { count == 0 && loss == nil }

    /// The line to write next, once no loss is to be told.
    package var first: Line? { head < lines.count ? lines[head] : nil }

    package mutating func append(_ line: Line) {
        lines.append(line)
        byteCount += line.bytes.count
        while count > limits.lines || byteCount > limits.bytes { loseFirst() }
    }

    package mutating func removeFirst() {
        guard let line = first else { return }
        byteCount -= line.bytes.count
        lines[head] = nil
        head += 1
        if head == lines.count || head >= 1024 {
            lines.removeFirst(head)
            head = 0
        }
    }

    /// The loss was told.
    package mutating func clearLoss() {
        loss = nil
    }

    /// Gives up every line that waits: they are a loss to tell of, should there be another chance.
    package mutating func loseAll() {
        while count > 0 { loseFirst() }
    }

    private mutating func loseFirst() {
        guard let line = first else { return }
        removeFirst()
        loss = LogLoss(count: (loss?.count ?? 0) + 1, first: loss?.first ?? line.time, last: line.time)
    }
}
