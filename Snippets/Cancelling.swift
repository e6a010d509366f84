// Ends work in order when the user presses Ctrl-C.

// snippet.hide
import IndicatorBackends

let indicator = IndicatorManager.configured(for: "downloads")
let files = ["a.iso", "b.iso"]

@Sendable func download(_ file: String) async throws {}

// snippet.show
try await indicator.run {
    do {
        try await indicator.withActivity("Downloading", total: files.count) { group in
            try await withThrowingTaskGroup { tasks in
                for file in files { tasks.addTask { try await group.withActivity(file) { try await download(file) } } }
                try await tasks.waitForAll()
            }
        }
    } catch is CancellationError {
        print("Cancelled; finished files are kept.")
    }
}
// After Ctrl-C, the process has ended by SIGINT, as a shell expects.
