import TestSupport

extension Command {
    /// What a script of Python prints. Its standard library is the reference for encodings.
    static func python(_ script: String, _ arguments: String...) async throws -> String {
        let result = try await run("python3", ["-c", script] + arguments, package: "python3")
        try #require(result.status == 0, "\(result.error)")
        return result.output
    }
}
