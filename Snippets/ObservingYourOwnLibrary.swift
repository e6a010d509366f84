// Observing the requests of a library that does not depend on this package.

// snippet.hide
import Foundation
import IndicatorCore

#if canImport(FoundationNetworking)
import FoundationNetworking  // hidden
#endif

let indicator = IndicatorManager()
let url = URL(fileURLWithPath: "/dev/null")
// snippet.show
// snippet.post
/// Runs a request and posts its notifications.
func data(from url: URL) async throws -> Data {
    try await withCheckedThrowingContinuation { continuation in
        let running = RunningTask()
        let task = URLSession.shared.dataTask(with: url) { data, _, error in
            running.post(.indicatorTaskDidComplete)
            continuation.resume(with: error.map(Result.failure) ?? .success(data ?? Data()))
        }
        running.task = task
        running.post(.indicatorTaskDidResume, label: "GET \(url.path)")
        task.resume()
    }
}

/// The task of a completion handler, which does not exist yet when the handler is created.
final class RunningTask: @unchecked Sendable {
    // `@unchecked`: `task` is set before the task is resumed, and the handler runs after that.
    var task: URLSessionTask?

    func post(_ name: Notification.Name, label: String? = nil) {
        NotificationCenter.default.post(
            name: name,
            object: task,
            userInfo: label.map { [TaskNotifications.labelKey: $0] }
        )
    }
}
// snippet.end

// snippet.observe
indicator.observe(.indicator)
// snippet.end

// snippet.own
let ours = TaskNotifications(
    starts: [Notification.Name("OurRequestDidStart")],
    pauses: [Notification.Name("OurRequestDidPause")],
    stops: [Notification.Name("OurRequestDidFinish")],
    identity: .userInfo("request"),
    label: { notification in (notification.userInfo?["path"] as? String).map { "GET \($0)" } }
)
indicator.observe(ours)
// snippet.end

// snippet.alamofire4
func alamofire4(_ event: String) -> Notification.Name {
    Notification.Name("org.alamofire.notification.name.task.\(event)")
}
indicator.observe(
    TaskNotifications(
        starts: [alamofire4("didResume")],
        pauses: [alamofire4("didSuspend")],
        stops: [alamofire4("didCancel"), alamofire4("didComplete")],
        identity: .userInfo("org.alamofire.notification.key.task")
    )
)
// snippet.end
_ = try? await data(from: url)
await indicator.shutdown()
