import IndicatorCore
import IndicatorTesting
import IndicatorTracking
import TestSupport
import Testing

/// The worked examples of the documentation, verbatim.
@Suite struct TrackingExamplesTests {
    private static let steps = """
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

    /// Five steps, begun in the order in which they are to be shown, each ended when its work is done.
    @Test func `Sequential and concurrent steps are tracked`() async {
        let clock = VirtualClock()
        let output = Output()
        let tracker = ActivityTracker<Int>()
        await tracker.recorder { output.print($0) }
        @Sendable func work(_ number: Int, _ seconds: Int) async {
            await Work(number: number, seconds: seconds, clock: clock).perform()
            output.print("Done: \(number)")
        }

        let first = tracker.begin(1)
        let second = tracker.begin(2)
        let third = tracker.begin(3)
        async let isDriven = clock.run(
            through: [([2, 3], 2), ([3, 4], 4), ([4, 8], 5), ([6, 8], 7), ([8], 9), ([], 11)],
            printing: output
        )
        async let beside: Void = {
            let tenth = tracker.begin(10)
            let eleventh = tracker.begin(11)
            await work(10, 3)
            tenth.end()
            await work(11, 5)
            eleventh.end()
        }()
        await work(1, 2)
        first.end()
        await work(2, 2)
        second.end()
        await work(3, 2)
        third.end()
        await beside

        #expect(await isDriven)
        #expect(output.lines.joined(separator: "\n") == Self.steps)
    }

    /// A sequence is pulled. The upstream of a `flatMap` is asked for another element only when the sequence of its
    /// last element has ended, so here it stays the first activity until everything is done. If the user should not see
    /// that, begin the steps up front, as above.
    @Test func `The upstream of a flat map ends when it is asked for more`() async {
        let clock = VirtualClock()
        let output = Output()
        let tracker = ActivityTracker<Int>()
        await tracker.recorder { output.print($0) }
        @Sendable func work(_ number: Int) -> Work { Work(number: number, seconds: 2, clock: clock) }

        let steps = work(1).tracked(in: tracker, initialValue: 1)
            .flatMap { number in
                output.print("Done: \(number)")
                return work(2)
            }
            .tracked(in: tracker, initialValue: 2)
            .flatMap { number in
                output.print("Done: \(number)")
                return work(3)
            }
            .tracked(in: tracker, initialValue: 3)
        async let isDriven = clock.run(through: [([2], 2), ([4], 3), ([6], 4)], printing: output)
        for await number in steps { output.print("Done: \(number)") }

        #expect(await isDriven)
        #expect(await eventually { output.lines.last == "loading: false, associatedValue: -1" })
        #expect(
            output.lines.prefix(5).joined(separator: "\n") == """
                loading: false, associatedValue: -1
                loading: true, associatedValue: 1
                Done: 1
                Done: 2
                Done: 3
                """
        )
    }
}
