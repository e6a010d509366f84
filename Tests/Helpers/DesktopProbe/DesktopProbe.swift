import Foundation
import IndicatorBackends
import IndicatorCore
import Logging

/// An app with an indicator on the desktop, which does what it reads from standard input. For tests: libnotify has one session bus
/// for a process, and some things are seen only from outside.
@main
struct DesktopProbe {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        LoggingSystem.bootstrap { StreamLogHandler.standardError(label: $0) }
        let neighbour = Neighbour()
        if arguments.contains("neighbour") || arguments.contains("glib-loop") { neighbour.runMainLoop() }
        if arguments.contains("neighbour") { neighbour.begin() }
        var backends: [any IndicatorBackend] = [OtherBackend()]
        #if DesktopNotification
        if arguments.contains("notification") {
            var settings = DesktopNotificationSettings()
            settings.isTransient = !arguments.contains("lasting")
            if let icon = arguments.first(where: { $0.hasPrefix("icon=") }) {
                settings.icon = String(icon.dropFirst(5))
            }
            backends.append(DesktopNotificationBackend(applicationName: "probe", settings: settings))
        }
        #endif
        #if DBus
        if arguments.contains("property") { backends.append(DBusPropertyBackend(applicationName: "probe")) }
        #endif
        let delays =
            arguments.contains("delays") ? .standard : try IndicatorDelays(startDelay: .zero, completionDelay: .zero)
        let probe = Probe(manager: IndicatorManager(delays: delays, backends: backends), neighbour: neighbour)
        print("ready")
        fflush(nil)
        while let line = readLine() {
            print(await probe.answer(to: line))
            fflush(nil)
        }
    }
}

/// A surface that needs no desktop, and remembers nothing.
struct OtherBackend: IndicatorBackend {
    let name = "other"

    func start() async throws {}
    func update(_ snapshot: IndicatorSnapshot) async throws {}
    func stop() async {}
}

/// The app's commands: a word, and what it needs, separated by tabs.
struct Probe {
    let manager: IndicatorManager
    let neighbour: Neighbour

    func answer(to line: String) async -> String {
        let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        switch words[0] {
        case "begin":
            manager.start("work", label: words[1])
        case "label":
            manager.update("work", label: words[1])
        case "long":
            manager.update("work", label: String(repeating: words[1], count: 100_000 / words[1].utf8.count))
        case "end":
            manager.stop("work")
        case "progress":
            manager.update("work", progress: Double(words[1]))
        case "status":
            return manager.backendStatuses.map { "\($0.name)=\($0.state)" }.joined(separator: "\t")
        case "delivered":
            return manager.backendStatuses.map { "\($0.name)=\($0.updatesDelivered)" }.joined(separator: "\t")
        case "available":
            return await Self.availability()
        case "flip":
            return "\(await flip(times: Int(words[1]) ?? 0, within: .seconds(Double(words[2]) ?? 0)) / .seconds(1))"
        case "still-initialised":
            return neighbour.isStillInitialised ? "yes" : "no"
        case "sigpipe":
            var action = sigaction()
            sigaction(SIGPIPE, nil, &action)
            return action.__sigaction_handler.sa_handler == nil ? "default" : "changed"
        case "memory":
            return Self.statistic("VmRSS:", of: "/proc/self/status")
        case "neighbour":
            return neighbour.check()
        case "neighbour-begin":
            neighbour.begin()
        case "shutdown":
            await manager.shutdown()
        default:
            return "unknown command"
        }
        return "done"
    }

    private static func availability() async -> String {
        #if DesktopNotification
        let kind = BackendKind.desktopNotification
        let context = BackendContext(name: kind.name, applicationName: "probe", logger: Logger(label: "probe"))
        return switch await kind.availability(context, BackendSettings(definitions: kind.settings)) {
        case .available(let detail): detail ?? ""
        case .unavailable(let reason, let help): "\(reason); \(help ?? "")"
        }
        #else
        return "built without"
        #endif
    }

    /// Begins and ends an activity `times` times, evenly spread over a time. Returns how long that took.
    private func flip(times: Int, within duration: Duration) async -> Duration {
        let start = ContinuousClock.now
        for index in 0..<times {
            manager.start("flip")
            manager.stop("flip")
            if index % 100 == 99 {
                try? await Task.sleep(until: start + duration * Double(index) / Double(times), clock: .continuous)
            }
        }
        return start.duration(to: .now)
    }

    private static func statistic(_ name: String, of path: String) -> String {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
        return line.dropFirst(name.count).trimmingCharacters(in: .whitespaces).components(separatedBy: " ")[0]
    }
}
