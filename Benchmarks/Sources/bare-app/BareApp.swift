import Foundation

/// `indicator-app` without the indicator, for comparison: an async app that measures a duration, sleeps, prints, and
/// waits until its input ends. With the argument `foundation`, it also reads its environment and observes a
/// notification, as most apps do.
@main
struct BareApp {
    static func main() async throws {
        let clock = ContinuousClock()
        let began = clock.now
        try await Task.sleep(for: .milliseconds(5))
        if CommandLine.arguments.dropFirst() == ["foundation"] {
            let name = Notification.Name(ProcessInfo.processInfo.environment["NOTIFICATION"] ?? "notification")
            _ = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in }
        }
        let milliseconds = (clock.now - began) / .milliseconds(1)
        print("ready \(milliseconds)")
        fflush(nil)
        while readLine() != nil {}
    }
}
