import Foundation
import IndicatorThreads
import TestSupport
import Testing

@testable import IndicatorCore

/// Requests of the user to cancel what the indicator shows.
@Suite struct CancellationTests {
    /// A backend with a button.
    private final class Button: IndicatorBackend {
        let name = "button"
        private let control = Locked<IndicatorControl?>(nil)

        func attach(to control: IndicatorControl) { self.control.withLock { $0 = control } }
        func start() async throws {}
        func update(_ snapshot: IndicatorSnapshot) async throws {}
        func stop() async {}

        var isThere: Bool { control.withLock { $0 }?.isCancellable() ?? false }
        func press(_ label: String? = nil) { control.withLock { $0 }?.requestCancellation(label) }
    }

    @Test("Each subscriber gets each request, until it ends or the indicator is shut down")
    func subscribers() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        var first = indicator.cancellationRequests.makeAsyncIterator()
        let labels = Locked<[String?]>([])
        let second = Task { [requests = indicator.cancellationRequests] in
            for await request in requests { labels.withLock { $0.append(request.label) } }
        }
        #expect(button.isThere)
        button.press("Uploading")
        #expect(await first.next() == CancellationRequest(label: "Uploading"))
        button.press()
        #expect(await first.next() == CancellationRequest(label: nil))
        // A request that is on its way at the shutdown may be lost.
        #expect(await eventually { labels.withLock { $0 } == ["Uploading", nil] })
        await indicator.shutdown()
        await second.value
        #expect(await first.next() == nil)
        var late = indicator.cancellationRequests.makeAsyncIterator()
        #expect(await late.next() == nil)
        #expect(!button.isThere)
    }

    @Test
    func `A subscriber that has ended leaves no button`() async throws {
        let button = Button()
        let indicator = IndicatorManager(backends: [button])
        let task = Task { for await _ in indicator.cancellationRequests {} }
        #expect(await eventually { button.isThere })
        task.cancel()
        await task.value
        #expect(await eventually { !button.isThere })
        await indicator.shutdown()
    }

    @Test
    func `A request reaches only those that are subscribers when it is made`() async throws {
        let indicator = IndicatorManager()
        var first = indicator.cancellationRequests.makeAsyncIterator()
        for number in 0..<100 {
            indicator.engine.requestCancellation(label: "\(number)")
            var later = indicator.cancellationRequests.makeAsyncIterator()
            #expect(await first.next()?.label == "\(number)")
            indicator.engine.requestCancellation(label: "last")
            #expect(await later.next()?.label == "last")
            #expect(await first.next()?.label == "last")
        }
    }
}
