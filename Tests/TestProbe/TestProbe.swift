import Foundation

/// The programs that tests start, measure, send signals to and kill: `test-probe PROBE [ARGUMENT…]`. Each has its
/// arguments in its documentation.
@main
struct TestProbe {
    // On the main thread, which is the only one until the first suspension: a probe may need that.
    @MainActor static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst(2))
        switch CommandLine.arguments.dropFirst().first {
        case "configuration": try await ConfigurationProbe.run(arguments)
        case "core": try await CoreProbe.run(arguments)
        case "desktop": try DesktopProbe.run(arguments)
        case "log": await LogProbe.run(arguments)
        case "network": try await NetworkProbe.run(arguments)
        case "progress": try await ProgressProbe.run(arguments)
        case "service": try await ServiceProbe.run(arguments)
        case "signals": try await SignalProbe.run(arguments)
        case "title": try await TitleProbe.run(arguments)
        default:
            FileHandle.standardError.write(Data("test-probe: unknown probe\n".utf8))
            exit(64)
        }
    }
}
