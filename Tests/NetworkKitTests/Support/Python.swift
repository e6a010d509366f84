import Subprocess
import TestSupport

/// Runs Python, whose standard library is the reference for encodings.
enum Python {
    /// Runs a script with bytes as its standard input, and returns what it prints.
    static func run(_ script: String, input: Data = Data(), executable: String = "python3") async throws -> String {
        let result = try await Subprocess.run(
            .name("env"),
            arguments: [executable, "-c", script],
            input: .array([UInt8](input)),
            output: .string(limit: 64 << 20),
            error: .string(limit: 1 << 20)
        )
        guard result.terminationStatus.isSuccess else {
            throw FixtureError("Python failed (apt-get install python3): \(result.standardError)")
        }
        return result.standardOutput
    }
}
