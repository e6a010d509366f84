import Subprocess
import SystemPackage

/// Runs other programs for tests, with swift-subprocess.
package enum Command {
    /// The result of a program that has ended.
    package struct Result: Sendable {
        /// Its exit status, or 128 plus the signal that ended it.
        package var status: Int
        /// Whether a signal ended it.
        package var isKilled: Bool
        /// What it wrote to standard output.
        package var output: String
        /// What it wrote to standard error.
        package var error: String
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - program: a path, or a name to look up in `PATH` and in the `sbin` folders, which some users' `PATH` lacks.
    ///   - arguments: its arguments.
    ///   - environment: added to that of the test; an empty value removes the variable.
    ///   - input: its standard input.
    ///   - isSession: whether it is in a session of its own, without a terminal.
    ///   - package: the Debian package of the program, for the message if it is not installed.
    package static func run(
        _ program: String,
        _ arguments: [String] = [],
        environment: [String: String] = [:],
        input: String = "",
        isSession: Bool = false,
        package: String? = nil
    ) async throws -> Result {
        let path = try find(program, package: package)
        var options = PlatformOptions()
        options.createSession = isSession
        let variables = environment.map { (Environment.Key(stringLiteral: $0), $1.isEmpty ? nil : $1) }
        let result = try await Subprocess.run(
            .path(FilePath(path)),
            arguments: Arguments(arguments),
            environment: .inherit.updating(Dictionary(uniqueKeysWithValues: variables)),
            platformOptions: options,
            input: .string(input),
            output: .string(limit: 256 << 20),
            error: .string(limit: 1 << 20)
        )
        let (status, isKilled) =
            switch result.terminationStatus {
            case .exited(let code): (Int(code), false)
            case .signaled(let signal): (128 + Int(signal), true)
            }
        let (output, error) = (result.standardOutput, result.standardError)
        return Result(status: status, isKilled: isKilled, output: output, error: error)
    }

    /// The path of a program.
    package static func find(_ program: String, package: String? = nil) throws -> String {
        if program.contains("/") { return program }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").components(separatedBy: ":")
        for folder in folders + ["/usr/local/sbin", "/usr/sbin", "/sbin"] {
            let path = "\(folder)/\(program)"
            if FileManager.default.isExecutableFile(atPath: path) { return path }
        }
        throw notInstalled(program, package: package ?? program)
    }

    /// The path of an executable target of this package, which the build places beside the test program.
    package static func built(_ product: String) throws -> String {
        let executable = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = (executable as NSString).deletingLastPathComponent + "/" + product
        if FileManager.default.isExecutableFile(atPath: path) { return path }
        throw FixtureError("'\(path)' is missing, and this test needs it: swift build --build-tests")
    }

    static func notInstalled(_ program: String, package: String) -> FixtureError {
        FixtureError("'\(program)' is not installed, and this test needs it: apt-get install \(package)")
    }
}

/// What a test needs, and could not get.
package struct FixtureError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
