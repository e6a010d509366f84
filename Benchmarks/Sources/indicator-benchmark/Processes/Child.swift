import Foundation

/// A child process that exchanges lines with this process.
final class Child {
    /// The reason why a measurement failed.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var received = Data()

    /// Starts a program in the folder of this one.
    convenience init(sibling name: String, _ arguments: [String] = [], environment: [String: String] = [:]) throws {
        try self.init(URL(fileURLWithPath: Self.sibling(name)), arguments, environment: environment)
    }

    /// Starts a program.
    ///
    /// - Parameter environment: further variables.
    init(
        _ program: URL,
        _ arguments: [String],
        environment: [String: String] = [:],
        isQuiet: Bool = false
    ) throws {
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        if isQuiet { process.standardError = FileHandle.nullDevice }
        do { try process.run() } catch { throw Failure(description: "\(program.path) could not be started: \(error)") }
    }

    /// The child ends when its input ends, and therefore also when this process ends.
    deinit {
        try? input.fileHandleForWriting.close()
    }

    /// The location of a program on the `PATH`; `nil` if it is not found.
    static func find(_ name: String) -> URL? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":")
            .map { URL(fileURLWithPath: String($0)).appendingPathComponent(name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// The path of a program in the folder of this one.
    static func sibling(_ name: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    var processID: Int32 { process.processIdentifier }

    /// Writes a line to the child.
    func write(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Reads the next line of the child, for up to 5 minutes. Returns `nil` at the end of the output.
    func readLine() throws -> String? {
        let newline = UInt8(ascii: "\n")
        while true {
            if let end = received.firstIndex(of: newline) {
                defer { received = Data(received[(end + 1)...]) }
                return String(decoding: received[..<end], as: UTF8.self)
            }
            var descriptor = pollfd(
                fd: output.fileHandleForReading.fileDescriptor,
                events: Int16(POLLIN),
                revents: 0
            )
            guard poll(&descriptor, 1, 300_000) > 0 else {
                throw Failure(
                    description: "\(process.executableURL?.lastPathComponent ?? "") printed nothing for 5 minutes"
                )
            }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { return nil }
            received += data
        }
    }

    /// Reads the next line, which must begin with a word. Returns the rest of the line.
    func expect(_ word: String) throws -> Substring {
        guard let line = try readLine() else { throw Failure(description: "the process did not print '\(word)'") }
        guard line.hasPrefix(word) else { throw Failure(description: "the process printed '\(line)', not '\(word)'") }
        return line.dropFirst(word.count).drop { $0 == " " }
    }

    /// Closes the child's input, and waits until the child has ended. Returns the remaining lines.
    @discardableResult
    func finish() throws -> [String] {
        try input.fileHandleForWriting.close()
        var lines: [String] = []
        while let line = try readLine() { lines.append(line) }
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            let name = process.executableURL?.lastPathComponent ?? ""
            throw Failure(description: "\(name) ended with status \(process.terminationStatus)")
        }
        return lines
    }
}
