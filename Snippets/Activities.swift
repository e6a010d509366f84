// The ways to say that work is going on.

// snippet.hide
import Foundation
import IndicatorCore

struct Client: Sendable {
    func upload(_ file: String) async throws {}
}

func showTheIndicator(_ indicator: IndicatorManager, client: Client, file: String, operation: Operation) async throws {
    // snippet.show
    // Work that the compiler ends for you: `Activity` is noncopyable and ends when it goes out of scope.
    let activity = indicator.begin("Fetching index")
    activity.update(label: "Fetching page 2", progress: 0.4)
    activity.end()  // optional

    // As long as a function runs, however it ends.
    try await indicator.withActivity("Uploading") { try await client.upload(file) }

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

try await showTheIndicator(IndicatorManager(), client: Client(), file: "holiday.jpg", operation: Operation())
