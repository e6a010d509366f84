import IndicatorBackends
import IndicatorCore

/// A complete program: an indicator from the user's config file, and work that it shows.
@main
struct QuickStart {
    static func main() async throws {
        let indicator = IndicatorManager.configured(for: "quick-start")

        for _ in (1...3).tracked("Counting to three", in: indicator) {
            try await Task.sleep(for: .seconds(1))
        }

        await indicator.shutdown()
    }
}
