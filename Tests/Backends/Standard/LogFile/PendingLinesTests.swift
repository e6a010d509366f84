import IndicatorCore
import Testing

@testable import DisplayText
@testable import IndicatorBackends

@Suite struct PendingLinesTests {
    private func line(_ number: Int, size: Int = 10) -> PendingLines.Line {
        PendingLines.Line(
            bytes: Array(repeating: UInt8(number % 256), count: size),
            time: LogTimestamp(IndicatorSnapshot.noon(Double(number)))
        )
    }

    @Test func linesComeOutInOrder() {
        var pending = PendingLines()
        for number in 0..<3000 { pending.append(line(number)) }
        for number in 0..<3000 {
            #expect(pending.first == line(number))
            pending.removeFirst()
        }
        #expect(pending.isEmpty)
    }

    @Test func theOldestAreLostAndCounted() {
        var pending = PendingLines(limit: 30)
        for number in 0..<5 { pending.append(line(number)) }
        #expect(pending.count == 3)
        #expect(pending.first == line(2))
        #expect(pending.loss == LogLoss(count: 2, first: line(0).time, last: line(1).time))
    }

    @Test func theLimitIsInBytes() {
        var pending = PendingLines(limit: 35)
        for number in 0..<5 { pending.append(line(number)) }
        #expect(pending.count == 3)
        pending.removeFirst()
        pending.append(line(5, size: 15))
        #expect(pending.count == 3)
        #expect(pending.loss?.count == 2)
    }

    @Test func losingAllLinesCountsThem() {
        var pending = PendingLines()
        for number in 0..<5 { pending.append(line(number)) }
        pending.dropAll()
        #expect(pending.count == 0)
        #expect(!pending.isEmpty)
        #expect(pending.loss == LogLoss(count: 5, first: line(0).time, last: line(4).time))
        pending.clearLoss()
        #expect(pending.isEmpty)
    }
}
