import IndicatorTracking
import TestSupport

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
        let (output, works) = (Output(), Works([1, 2, 3, 10, 11]))
        let tracker = ActivityTracker<Int>()
        await tracker.recorder { output.print($0) }
        @Sendable func work(_ number: Int) async {
            for await number in works[number] { output.print("Done: \(number)") }
        }

        let first = tracker.begin(1)
        let second = tracker.begin(2)
        let third = tracker.begin(3)
        async let areEnded = works.end([(1, 2), (10, 4), (2, 5), (3, 7), (11, 9)], printing: output)
        async let beside: Void = {
            let tenth = tracker.begin(10)
            let eleventh = tracker.begin(11)
            await work(10)
            tenth.end()
            await work(11)
            eleventh.end()
        }()
        await work(1)
        first.end()
        await work(2)
        second.end()
        await work(3)
        third.end()
        await beside

        #expect(await areEnded)
        #expect(await eventually { output.lines.joined(separator: "\n") == Self.steps }, "\(output.lines)")
    }

    /// A sequence is pulled. The upstream of a `flatMap` is asked for another element only when the sequence of its
    /// last element has ended, so here it stays the first activity until everything is done. If the user should not see
    /// that, begin the steps up front, as above.
    @Test func `The upstream of a flat map ends when it is asked for more`() async {
        let (output, works) = (Output(), Works([1, 2, 3]))
        let tracker = ActivityTracker<Int>()
        await tracker.recorder { output.print($0) }

        let steps = works[1].tracked(in: tracker, initialValue: 1)
            .flatMap { number in
                output.print("Done: \(number)")
                return works[2]
            }
            .tracked(in: tracker, initialValue: 2)
            .flatMap { number in
                output.print("Done: \(number)")
                return works[3]
            }
            .tracked(in: tracker, initialValue: 3)
        async let areEnded = works.end([(1, 2), (2, 3), (3, 4)], printing: output)
        for await number in steps { output.print("Done: \(number)") }

        #expect(await areEnded)
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
