@testable import IndicatorCore
import TestSupport

/// Requests of the user to cancel what the indicator shows.
@Suite struct CancellationTests {
    /// The button of a backend.
    private struct Button {
        let control: IndicatorControl

        var isThere: Bool { control.engine?.snapshot.isCancellable == true }
        func press(_ label: String? = nil) { control.requestCancellation(CancellationRequest(label: label)) }
    }

    @Test("Each iteration gets each request from its beginning on; the button is there while there is one")
    func iterations() async {
        let indicator = IndicatorManager()
        let button = Button(control: IndicatorControl(indicator.engine))
        let requests = indicator.cancellationRequests
        #expect(!button.isThere)
        do {
            var first = requests.makeAsyncIterator()
            #expect(button.isThere)
            button.press("Uploading")
            #expect(await first.next(isolation: nil) == CancellationRequest(label: "Uploading"))
            for number in 0..<100 {
                button.press("\(number)")
                var later = requests.makeAsyncIterator()
                #expect(await first.next(isolation: nil)?.label == "\(number)")
                button.press()
                for label in [await first.next(isolation: nil)?.label, await later.next(isolation: nil)?.label] {
                    #expect(label == nil)
                }
            }
        }
        // The loops have ended, and the sequence is kept.
        #expect(await eventually { !button.isThere })
        let task = Task { for await _ in requests {} }
        #expect(await eventually { button.isThere })
        task.cancel()
        await task.value
        #expect(await eventually { !button.isThere })
        await indicator.shutdown()
    }

    /// Of 200 rounds, requests were lost in 35, and out of order in 23.
    @Test func `The requests before a shutdown arrive in order, and then the sequence ends`() async {
        let numbers = (0..<8).map { "\($0)" }
        for _ in 0..<200 {
            let indicator = IndicatorManager()
            var iterators = (0..<2).map { _ in indicator.cancellationRequests.makeAsyncIterator() }
            for number in numbers { indicator.engine.requestCancellation(CancellationRequest(label: number)) }
            await indicator.shutdown()
            for index in iterators.indices {
                var labels: [String?] = []
                while let request = await iterators[index].next(isolation: nil) { labels.append(request.label) }
                #expect(labels == numbers)
            }
            // Nothing can be cancelled any more, though the loops are kept.
            var late = indicator.cancellationRequests.makeAsyncIterator()
            #expect(!indicator.engine.requestCancellation() && !indicator.snapshot.isCancellable)
            #expect(await late.next(isolation: nil) == nil)
        }
    }
}
