package import ArgumentParser
package import IndicatorBackends

extension ProgramSetup {
    /// Loads the configuration for a command. If it has mistakes, prints them and ends the command.
    package static func forCommand(_ options: Options, includingUnused: Bool = false) async throws -> ProgramSetup {
        do {
            return try await ProgramSetup(options, includingUnused: includingUnused)
        } catch let error as ConfigurationError {
            throw status(for: error.mistakes)
        }
    }

    /// Prints mistakes. Returns the exit status of the command.
    package static func status(for mistakes: [ConfigurationMistake]) -> ExitCode {
        for mistake in mistakes {
            let line =
                mistake.isInCode ? "\(Program.name): error: \(mistake.message)" : mistake.line(severity: "error")
            try? Output.error.write(line + "\n")
        }
        // These mistakes come from the command line, so they are usage errors.
        return mistakes.allSatisfy(\.isInCode) ? ExitCode.usage : ExitCode.configuration
    }
}

extension ConfigurationMistake {
    fileprivate var isInCode: Bool {
        if case .code = location { true } else { false }
    }
}
