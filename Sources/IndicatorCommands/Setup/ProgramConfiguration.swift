import ArgumentParser
import Foundation
package import IndicatorBackends

extension ConfigurationSource {
    /// The source of an app. In the file of another program, a kind that is unknown here may be that program's.
    package init(forCommandOf app: String, path: String?) {
        self.init(for: app, path: path)
        let own = ConfigurationSource(for: Program.name).locateFile()
        func place(_ path: String) -> URL { URL(filePath: path).resolvingSymlinksInPath() }
        acceptsKindsOfApps = app != Program.name || path.map { place($0) != own.map(place) } ?? false
    }

    /// Loads the configuration for a command. If it has mistakes, prints them and ends the command.
    package func loadForCommand() throws -> IndicatorConfiguration {
        do throws(ConfigurationError) { return try .load(from: self) } catch { throw Self.exit(error) }
    }

    /// The same for its backends.
    func availabilityForCommand() async throws -> [BackendAvailability] {
        do throws(ConfigurationError) { return try await availability() } catch { throw Self.exit(error) }
    }

    private static func exit(_ error: ConfigurationError) -> ExitCode {
        // Values in code are those of the command line.
        let isUsage = error.mistakes.allSatisfy { if case .code = $0.location { true } else { false } }
        let lines = isUsage ? error.mistakes.map { "\(Program.name): error: \($0.message)" } : ["\(error)"]
        try? Output.error.write(lines.map { $0 + "\n" }.joined())
        return isUsage ? .usage : .configuration
    }
}

extension Duration {
    /// A number of seconds on the command line, as in the config file. For the `transform` of an option.
    @Sendable package static func seconds(argument: String) throws -> Duration {
        guard let time = SettingValue.string(argument).seconds else {
            throw ValidationError("expected a number of seconds, zero or more")
        }
        return time
    }
}
