// Showing the user which step of the work is in progress.

// snippet.hide
import Foundation  // hidden
import IndicatorCore
import IndicatorOpenCombine  // hidden
import IndicatorTracking
import OpenCombine  // hidden

struct Page: Sendable {
    var number: Int
}

struct Parser: Sendable {
    nonisolated(nonsending) func parse(_ pages: [Page], onPage: @Sendable (Int) -> Void = { _ in }) async -> [String] {
        for page in pages { onPage(page.number) }
        return []
    }
}

struct Step: Sendable {
    var name: String
    var fraction: Double
}

/// As in OpenCombineDispatch, which is not a dependency of this package.
private struct QueueScheduler: Scheduler {  // hidden
    typealias Time = ImmediateScheduler.SchedulerTimeType

    let queue: DispatchQueue
    var now: Time { ImmediateScheduler.shared.now }
    var minimumTolerance: Time.Stride { ImmediateScheduler.shared.minimumTolerance }

    func schedule(options: Never?, _ action: @escaping () -> Void) {
        nonisolated(unsafe) let action = action
        queue.async { action() }
    }

    func schedule(after date: Time, tolerance: Time.Stride, options: Never?, _ action: @escaping () -> Void) {
        schedule(options: options, action)
    }

    func schedule(
        after date: Time,
        interval: Time.Stride,
        tolerance: Time.Stride,
        options: Never?,
        _ action: @escaping () -> Void
    ) -> any Cancellable {
        schedule(options: options, action)
        return AnyCancellable {}
    }
}

extension DispatchQueue {  // hidden
    fileprivate var ocombine: QueueScheduler { QueueScheduler(queue: self) }
}

final class Screen: Sendable {
    func show(_ text: String?) { print(text ?? "") }
}

let pages = AsyncThrowingStream<Page, any Error> { continuation in
    for number in 1...3 { continuation.yield(Page(number: number)) }
    continuation.finish()
}
let parser = Parser()
let screen = Screen()
let indicator = IndicatorManager()

func upload(_ lines: [String]) async throws {}
func handle(_ page: Page) {}
// snippet.show
// snippet.tracker
let tracker = ActivityTracker<String>(defaultValue: "Loading")
tracker.attach(to: indicator)
// snippet.end

// snippet.sequence
var received: [Page] = []
for try await page in pages.tracked(in: tracker, initialValue: "first page", value: { "page \($0.number)" }) {
    received.append(page)
}
// snippet.end

// snippet.function
let lines = await tracker.withActivity("Parsing") { step in
    await parser.parse(received) { step.update("Parsing page \($0)") }
}
try await tracker.withActivity("Uploading") { try await upload(lines) }
// snippet.end

// snippet.scope
func check(_ lines: [String]) {
    let step = tracker.begin("Checking")
    for (number, line) in lines.enumerated() where line.isEmpty {
        step.update("Checking line \(number + 1) of \(lines.count)")
    }
}
// snippet.end

// snippet.statuses
let showing = Task { [statuses = tracker.statuses] in
    for await status in statuses {
        screen.show(status.isLoading ? status.associatedValue : nil)
    }
}
// snippet.end

// snippet.values
let steps = ActivityTracker<Step>(equalWhen: { $0.name == $1.name && $0.fraction == $1.fraction })
steps.attach(to: indicator, label: { $0.name }, progress: { $0.fraction })
// snippet.end

// snippet.upfront
let reading = tracker.begin("Reading")
let writing = tracker.begin("Writing")
let parsed = await parser.parse(received)
reading.end()
try await upload(parsed)
writing.end()
// snippet.end

// snippet.publisher
let numbers = PassthroughSubject<Int, any Error>()
let downloads =
    numbers
    .tracked(in: tracker, initialValue: "Connecting", value: { "part \($0)" })
    .sink { _ in
    } receiveValue: { part in
        print("got part \(part)")
    }

let titles = tracker.publisher(on: DispatchQueue.main.ocombine)
    .map { $0.associatedValue ?? "" }
    .sink { title in screen.show(title) }
// snippet.end
// snippet.hide
check(lines)
downloads.cancel()
titles.cancel()
showing.cancel()
await showing.value
await indicator.shutdown()
