import Foundation
import IndicatorBackends
import IndicatorCore

/// A minimal app with an indicator: `indicator-app CONFIG-FILE`.
///
/// When all backends are running, prints `ready` and the duration of `IndicatorManager.configured` in milliseconds.
/// Then every line of input begins an activity, and `visible` is printed when it is shown. Ends when the input ends.
@main
struct IndicatorApp {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else {
            FileHandle.standardError.write(Data("usage: indicator-app CONFIG-FILE\n".utf8))
            exit(64)
        }
        let clock = ContinuousClock()
        let began = clock.now
        let indicator = IndicatorManager.configured(
            for: "indicator-app",
            path: CommandLine.arguments[1],
            environment: [:]
        )
        let milliseconds = (clock.now - began) / .milliseconds(1)
        while !indicator.backendStatuses.allSatisfy({ $0.state == .running }) {
            try await Task.sleep(for: .milliseconds(5))
        }
        printLine("ready \(milliseconds)")
        var activities: [ManagedActivity] = []
        while readLine() != nil {
            activities.append(ManagedActivity("GET /items", in: indicator))
            while !indicator.isVisible { try await Task.sleep(for: .milliseconds(5)) }
            printLine("visible")
        }
        await indicator.shutdown()
    }

    private static func printLine(_ line: String) {
        print(line)
        fflush(nil)
    }
}
