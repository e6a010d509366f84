// Ends work in order when the user presses Ctrl-C.

// snippet.hide
import IndicatorBackends

let indicator = IndicatorManager.configured(for: "downloads")
let files = ["a.iso", "b.iso"]

@Sendable func download(_ file: String) async throws {}

// snippet.show
indicator.cancelOnSignals()
let requests = indicator.cancellationRequests
let work = Task {
    try await indicator.withActivity("Downloading", total: files.count) { group in
        try await withThrowingTaskGroup { tasks in
            for file in files { tasks.addTask { try await group.withActivity(file) { try await download(file) } } }
            try await tasks.waitForAll()
        }
    }
}
let canceller = Task { for await _ in requests { work.cancel() } }
do { try await work.value } catch is CancellationError { print("Cancelled; finished files are kept.") }
canceller.cancel()
await indicator.shutdown()
// After Ctrl-C, the process now ends by SIGINT, as a shell expects.
