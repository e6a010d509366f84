import IndicatorBackends

/// A complete program: bars in the terminal unless the user's config file chooses something else, and work to show.
@main
struct QuickStart {
    static func main() async throws {
        var source = ConfigurationSource(for: "quick-start")
        source.defaults = ["backends": ["terminalTitle", "terminalProgress"]]
        let indicator = IndicatorManager.configured(from: source)
        for _ in (1...3).tracked("Counting to three", in: indicator) {
            try await Task.sleep(for: .seconds(1))
        }
        await indicator.shutdown()
    }
}
