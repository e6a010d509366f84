import IndicatorCore
import IndicatorOpenCombine
import IndicatorTracking
import OpenCombine
import Testing

/// The worked examples of the documentation, verbatim, with publishers.
@Suite struct PublisherExamplesTests {
    @Test func theValueFollowsTheElements() {
        let tracker = ActivityTracker<String>()
        var lines: [String] = []
        let printing = tracker.publisher.sink { lines.append("\($0.isLoading) \($0.associatedValue ?? "Empty")") }
        var sum = 0
        let iterating = (0..<5).publisher
            .trackActivity(in: tracker, initialValue: "-1", value: { "\($0)" })
            .sink { sum += $0 }
        #expect(lines == ["false Empty", "true -1", "true 0", "true 1", "true 2", "true 3", "true 4", "false Empty"])
        #expect(sum == 10)
        withExtendedLifetime((printing, iterating)) {}
    }

    @Test func theValueFollowsTheElementsOfATimer() {
        let scheduler = VirtualScheduler()
        let tracker = ActivityTracker<String>()
        var lines: [String] = []
        let printing = tracker.publisher.sink { lines.append("\($0.isLoading) \($0.associatedValue ?? "Empty")") }
        let numbers = PassthroughSubject<Int, Never>()
        for number in 0..<3 {
            scheduler.schedule(after: scheduler.now.advanced(by: .seconds(number + 1))) { numbers.send(number) }
        }
        scheduler.schedule(after: scheduler.now.advanced(by: .seconds(4))) { numbers.send(completion: .finished) }
        let iterating = numbers.trackActivity(in: tracker, initialValue: "-1", value: { "\($0)" }).sink { _ in }
        #expect(lines == ["false Empty", "true -1"])
        scheduler.advance(by: .seconds(2))
        #expect(lines == ["false Empty", "true -1", "true 0", "true 1"])
        scheduler.run()
        #expect(lines == ["false Empty", "true -1", "true 0", "true 1", "true 2", "false Empty"])
        withExtendedLifetime((printing, iterating)) {}
    }

    @Test func sequentialAndConcurrentStepsAreTracked() {
        let scheduler = VirtualScheduler()
        let tracker = ActivityTracker<Int>()
        var output: [String] = []
        func work(_ number: Int, _ seconds: Int) -> some Publisher<Int, Never> {
            Just(number).delay(for: .seconds(seconds), scheduler: scheduler)
        }

        let printing = tracker.publisher.sink {
            output.append("loading: \($0.isLoading), associatedValue: \($0.associatedValue ?? -1)")
        }
        let row = work(1, 2).trackActivity(in: tracker, value: 1)
            .flatMap { number in
                output.append("Done: \(number)")
                return work(2, 2)
            }
            .trackActivity(in: tracker, value: 2)
            .flatMap { number in
                output.append("Done: \(number)")
                return work(3, 2)
            }
            .trackActivity(in: tracker, value: 3)
            .sink { output.append("Done: \($0)") }
        let beside = work(10, 3).trackActivity(in: tracker, value: 10)
            .flatMap { number in
                output.append("Done: \(number)")
                return work(11, 5)
            }
            .trackActivity(in: tracker, value: 11)
            .sink { output.append("Done: \($0)") }
        scheduler.run()

        #expect(
            output.joined(separator: "\n") == """
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
