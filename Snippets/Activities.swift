// The ways to say that work is going on.

// snippet.hide
import Foundation
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
    // Work that the compiler ends for you: `Activity` is noncopyable and ends when it goes out of scope.
    let activity = indicator.begin("Fetching index", total: 40_000_000, unit: .bytes)
    activity.advance(by: 16_384)  // rate and time left follow
    activity.label = "Fetching page 2"  // nil clears
    activity.end()  // optional

    // As long as a function runs, however it ends.
    try await indicator.withActivity("Uploading") { try await client.upload(file) }

    // A loop, which gets on with each element.
    for file in files.tracked("Compressing", in: indicator) { try compress(file) }

    // One activity made of several, with their progress.
    try await indicator.withGroup("Uploading", total: files.count) { group in
        for file in files {
            try await group.withActivity(file) { try await client.upload(file) }
        }
    }

    // An identity of your own: starting it twice counts once.
    indicator.start("request-7", label: "GET /")
    indicator.stop("request-7")

    // As long as an object lives.
    indicator.track(operation, label: "Export")

    // As in AFNetworking.
    indicator.incrementActivityCount()
    indicator.decrementActivityCount()

    // What a library says of its own tasks by notifications.
    indicator.observe(.indicator)
    indicator.observe(.alamofire)

    // What the indicator does, for whatever else wants to know.
    let observer = Task {
        for await snapshot in indicator.snapshots {
            print(snapshot.state, snapshot.activityCount, snapshot.label ?? "")
        }
    }

    // Hides, restores, flushes, in bounded time.
    await indicator.shutdown()
    // snippet.hide
    await observer.value
}

try await showTheIndicator(IndicatorManager(), client: Client(), files: ["holiday.jpg"], operation: Operation())
