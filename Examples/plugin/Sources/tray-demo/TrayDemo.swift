import IndicatorBackends
import TrayIndicator

/// An app whose users may show its work in the tray: `tray-demo`, or `tray-demo --backends` for what works here.
@main
struct TrayDemo {
    static func main() async throws {
        var registry = BackendRegistry.standard
        registry.register(.tray)
        let source = ConfigurationSource(for: "tray-demo", registry: registry)
        guard CommandLine.arguments.count == 1 else {
            for (kind, fit) in source.automatic where fit.isChosen { print("auto: \(kind), \(fit.reason)") }
            for backend in try await source.availability() {
                switch backend.availability {
                case .success(let place): print("\(backend.name): \(place)")
                case .failure(let problem): print("\(backend.name): \(problem)")
                }
            }
            return
        }
        let indicator = IndicatorManager.configured(from: source)
        let activity = indicator.begin("Copying <photos> & films")
        for step in 0..<100 {
            activity.progress = Double(step) / 100
            activity.attention = 40..<70 ~= step ? "Replace holiday.jpg?" : nil
            try await Task.sleep(for: .milliseconds(300))
        }
        activity.end(.succeeded)
        await indicator.shutdown()
    }
}
