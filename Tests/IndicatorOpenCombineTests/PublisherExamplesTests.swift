import IndicatorCore
import IndicatorOpenCombine
import IndicatorTracking
import OpenCombine
import Testing

/// The worked examples of the documentation, verbatim, with publishers.
@Suite struct PublisherExamplesTests {
    @Test func `Sequential and concurrent steps are tracked`() async {
        let works = [1, 2, 3, 10, 11].reduce(into: [:]) { $0[$1] = PassthroughSubject<Int, Never>() }
        let tracker = ActivityTracker<Int>()
        let log = StatusLog()
        func work(_ number: Int) -> PassthroughSubject<Int, Never> { works[number]! }

        let printing = tracker.publisher.sink {
            log.append("loading: \($0.isLoading), associatedValue: \($0.associatedValue ?? -1)")
        }
        #expect(await log.receives(1))
        let row = work(1).tracked(in: tracker, initialValue: 1)
            .flatMap { number in
                log.append("Done: \(number)")
                return work(2)
            }
            .tracked(in: tracker, initialValue: 2)
            .flatMap { number in
                log.append("Done: \(number)")
                return work(3)
            }
            .tracked(in: tracker, initialValue: 3)
            .sink { log.append("Done: \($0)") }
        let beside = work(10).tracked(in: tracker, initialValue: 10)
            .flatMap { number in
                log.append("Done: \(number)")
                return work(11)
            }
            .tracked(in: tracker, initialValue: 11)
            .sink { log.append("Done: \($0)") }
        #expect(await log.receives(2))
        for (number, lines) in [(1, 4), (10, 5), (2, 7), (3, 9), (11, 11)] {
            work(number).send(number)
            work(number).send(completion: .finished)
            #expect(await log.receives(lines))
        }

        #expect(
            log.lines.joined(separator: "\n") == """
                loading: false, associatedValue: -1
                loading: true, associatedValue: 1
                Done: 1
                loading: true, associatedValue: 2
                Done: 10
                Done: 2
                loading: true, associatedValue: 3
                Done: 3
                loading: true, associatedValue: 11
                Done: 11
                loading: false, associatedValue: -1
                """
        )
        withExtendedLifetime((printing, row, beside)) {}
    }
}
