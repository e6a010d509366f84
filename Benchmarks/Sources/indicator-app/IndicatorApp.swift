import Foundation
import IndicatorBackends
import IndicatorCore

/// A minimal app with an indicator: `indicator-app CONFIG-FILE`.
///
/// When all backends are running, prints `ready` and the duration of `IndicatorManager.configured` in milliseconds.
/// Then every line of input begins an activity, and `visible` is printed when it is shown. After `updates` and a number
/// of seconds, it changes 1000 times a second for that time, and `updated` is printed. Ends when the input ends.
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
            from: ConfigurationSource(
                for: "indicator-app",
                path: CommandLine.arguments[1],
                environment: [:]
            )
        )
        let milliseconds = (clock.now - began) / .milliseconds(1)
        while !indicator.backendStatuses.allSatisfy({ $0.state == .running }) {
            try await Task.sleep(for: .milliseconds(5))
        }
        printLine("ready \(milliseconds)")
        var activities: [ManagedActivity] = []
        while let line = readLine() {
            let activity = ManagedActivity("GET /items", in: indicator)
            activities.append(activity)
            while !indicator.isVisible { try await Task.sleep(for: .milliseconds(5)) }
            guard line.hasPrefix("updates "), let seconds = Double(line.dropFirst(8)) else {
                printLine("visible")
                continue
            }
            let steps = Int(seconds * 1000)
            for step in 0..<steps {
                activity.label = "GET /items/\(step)"
                activity.progress = Double(step) / Double(steps)
                usleep(1000)
            }
            printLine("updated")
        }
        await indicator.shutdown()
    }

    private static func printLine(_ line: String) {
        print(line)
        fflush(nil)
    }
}
