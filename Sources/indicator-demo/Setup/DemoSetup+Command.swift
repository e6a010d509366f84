import ArgumentParser
import IndicatorBackends

extension DemoSetup {
    /// Loads the configuration for a command: prints what is wrong with it and ends the command.
    static func forCommand(_ options: Options) async throws -> DemoSetup {
        do {
            return try await DemoSetup(options)
        } catch let error as ConfigurationError {
            for mistake in error.mistakes {
                let line =
                    mistake.isInCode ? "indicator-demo: error: \(mistake.message)" : mistake.line(severity: "error")
                try? Output.error.write(line + "\n")
            }
            // What only the command line can have got wrong is wrong usage, not wrong configuration.
            throw error.mistakes.allSatisfy(\.isInCode) ? ExitCode.usage : ExitCode.configuration
        }
    }
}

extension ConfigurationMistake {
    fileprivate var isInCode: Bool {
        if case .code = location { true } else { false }
    }
}
