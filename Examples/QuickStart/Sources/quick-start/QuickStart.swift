import IndicatorBackends
import IndicatorCore

/// The whole of it: an indicator from the user's config file, and work that it shows.
@main
struct QuickStart {
    static func main() async throws {
        let indicator = IndicatorManager.configured(for: "quick-start")

        await indicator.withActivity("Counting to three") { activity in
            for number in 1...3 {
                activity.update(progress: Double(number) / 3)
                try? await Task.sleep(for: .seconds(1))
            }
        }

        await indicator.shutdown()
    }
}
