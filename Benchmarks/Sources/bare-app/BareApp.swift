import Foundation

/// `indicator-app` without the indicator, for comparison: an async app that measures a duration, sleeps, prints, and
/// waits until its input ends.
@main
struct BareApp {
    static func main() async throws {
        let clock = ContinuousClock()
        let began = clock.now
        try await Task.sleep(for: .milliseconds(5))
        let milliseconds = (clock.now - began) / .milliseconds(1)
        print("ready \(milliseconds)")
        fflush(nil)
        while readLine() != nil {}
    }
}
