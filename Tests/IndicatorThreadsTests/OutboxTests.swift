import IndicatorThreads
import Testing

@Suite struct OutboxTests {
    @Test func `One thread attends and handles all in order`() {
        var outbox = Outbox<Int>()
        var begins: [Bool] = []
        var batches: [[Int]?] = []
        begins.append(outbox.beginDelivery())
        outbox.append(1)
        begins.append(outbox.beginDelivery())
        outbox.append(2)
        begins.append(outbox.beginDelivery())
        batches.append(outbox.nextBatch())
        outbox.append(3)
        begins.append(outbox.beginDelivery())
        batches.append(outbox.nextBatch())
        batches.append(outbox.nextBatch())
        begins.append(outbox.beginDelivery())
        #expect(begins == [false, true, false, false, false])
        #expect(batches == [[1, 2], [3], nil])
    }
}
