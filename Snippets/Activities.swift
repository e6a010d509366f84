// The ways to report work in progress.

// snippet.hide
import Foundation  // hidden
import IndicatorCore

struct Client: Sendable {
    func upload(_ file: String) async throws {}
}

func compress(_ file: String) throws {}

func showTheIndicator(
    _ indicator: IndicatorManager,
    client: Client,
    files: [String],
    operation: Operation
) async throws {
    let file = files[0]
    // snippet.show
    // A scope: `Activity` is noncopyable and ends when it goes out of scope.
    // The top-level code of a script is not a scope: use `withActivity` or `ManagedActivity` there.
    let activity = indicator.begin("Fetching index", total: 40_000_000, unit: .bytes)
    activity.advance(by: 16_384)  // yields the rate and the time left
    activity.label = "Fetching page 2"  // nil clears
    activity.end()  // optional

    // A closure, however it ends.
    try await indicator.withActivity("Uploading") { try await client.upload(file) }

    // A loop: each element advances the progress.
    for file in files.tracked("Compressing", in: indicator) { try compress(file) }

    // A group: its progress combines that of its members. With `unit: .bytes`, it adds up their bytes.
    try await indicator.withActivity("Uploading", total: files.count) { group in
        for file in files {
            try await group.withActivity(file) { try await client.upload(file) }
        }
    }

    // An identity: starting it twice counts once.
    indicator.start("request-7", label: "GET /")
    indicator.stop("request-7")

    // A task that the user can cancel.
    let upload = Task { try await indicator.withActivity("Uploading") { try await client.upload(file) } }
    let requests = indicator.cancellationRequests
    let canceller = Task { for await _ in requests { upload.cancel() } }
    try await upload.value
    canceller.cancel()

    // The lifetime of an object.
    indicator.track(operation, label: "Export")

    // A count, as in AFNetworking.
    indicator.incrementActivityCount()
    indicator.decrementActivityCount()

    // The notifications that a library posts for its tasks.
    indicator.observe(.indicator)
    indicator.observe(.alamofire)

    // The indicator's state, for your own code.
    let observer = Task {
        for await snapshot in indicator.snapshots {
            print(snapshot.state, snapshot.activityCount, snapshot.label ?? "")
        }
    }

    // Hides the indicator, restores and flushes the surfaces, in bounded time.
    await indicator.shutdown()
    // snippet.hide
    await observer.value
}

try await showTheIndicator(IndicatorManager(), client: Client(), files: ["holiday.jpg"], operation: Operation())
