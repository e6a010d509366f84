import Foundation

/// A process that is talked to in lines.
final class Child {
    /// Why nothing is to be had of it.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var received = Data()

    /// Starts one of the programs that were built with this one.
    convenience init(sibling name: String, _ arguments: [String] = []) throws {
        try self.init(URL(fileURLWithPath: Self.sibling(name)), arguments)
    }

    /// Starts a program.
    init(_ program: URL, _ arguments: [String], isQuiet: Bool = false) throws {
        process.executableURL = program
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        if isQuiet { process.standardError = FileHandle.nullDevice }
        do { try process.run() } catch { throw Failure(description: "\(program.path) could not be started: \(error)") }
    }

    /// All of them end with their input, and so with this process too, however that ends.
    deinit {
        try? input.fileHandleForWriting.close()
    }

    /// Where a program is on the `PATH`; `nil` when it is not there.
    static func find(_ name: String) -> URL? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return path.split(separator: ":")
            .map { URL(fileURLWithPath: String($0)).appendingPathComponent(name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }

    /// Where a program is that was built with this one.
    static func sibling(_ name: String) -> String {
        URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(name).path
    }

    var processID: Int32 { process.processIdentifier }

    /// Writes a line to it.
    func write(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The next line that it writes, within half a minute; `nil` when there are no more.
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
            guard poll(&descriptor, 1, 30_000) > 0 else {
                throw Failure(
                    description: "\(process.executableURL?.lastPathComponent ?? "") says nothing for half a minute"
                )
            }
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { return nil }
            received += data
        }
    }

    /// The next line that it writes, which begins with a word. Returns the rest of it.
    func expect(_ word: String) throws -> Substring {
        guard let line = try readLine() else { throw Failure(description: "it ended before it said '\(word)'") }
        guard line.hasPrefix(word) else { throw Failure(description: "it said '\(line)' instead of '\(word)'") }
        return line.dropFirst(word.count).drop { $0 == " " }
    }

    /// Ends its input, and waits until it has ended. Returns what it had still to say.
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
