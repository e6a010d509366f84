import Foundation
import Testing

@testable import BackendConfiguration
@testable import IndicatorBackends

/// A config file with mistakes, and the lines of its report.
struct BrokenFile: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let file: String
    let reports: [String]

    init(_ name: String, _ text: String, file: String = "indicator.yaml", _ reports: String...) {
        (self.name, self.bytes, self.file, self.reports) = (name, Array(text.utf8), file, reports)
    }

    init(_ name: String, bytes: [UInt8], _ reports: String...) {
        (self.name, self.bytes, file, self.reports) = (name, bytes, "indicator.yaml", reports)
    }

    var testDescription: String { name }
}

@Suite("A broken config file")
struct BrokenFileTests {
    @Test(
        "is reported completely, line by line",
        arguments: BrokenFile.values + BrokenFile.structure + BrokenFile.syntax + BrokenFile.habits
    )
    func report(of broken: BrokenFile) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Data(broken.bytes), to: broken.file)
        let error = try #require(throws: ConfigurationError.self) {
            try IndicatorConfiguration.load(
                from: ConfigurationSource(
                    for: "my-app",
                    path: path,
                    environment: ["HOME": "/home/user"],
                    registry: .forTests()
                )
            )
        }
        let report = error.description.replacingOccurrences(of: "\(folder.path)/", with: "")
        let expected = broken.reports.map {
            "\(broken.file):\($0)".replacing(/^([^:]*:[0-9]+:[0-9]+: )/) { "\($0.1)error: " }
        }
        #expect(report == expected.joined(separator: "\n"))
    }

    @Test(
        "is quoted without control characters",
        arguments: [
            #"terminalTitle: {format: "{a\e]0;x\a\nb}"}"#, #""\e[2J\u200f": 1"#, #"startDelay: "\e[2J""#,
            #"backends: ["\e[2J\x9b2J"]"#, "logFile: {path: \"\\e\\n\", format: \"\\u202e\"}",
        ]
    )
    func quotes(text: String) {
        let source = ConfigurationSource(for: "my-app", environment: [:], registry: .standard)
        var reader = ConfigurationReader(source, text: text, path: "x.yaml")
        _ = reader.read()
        #expect(!reader.mistakes.isEmpty)
        for mistake in reader.mistakes {
            let line = mistake.line(severity: "error")
            #expect(!line.unicodeScalars.contains { [.control, .format].contains($0.properties.generalCategory) })
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `is reported with at most 100 mistakes`() async {
        let duplicates = String(repeating: "startDelay: 1\n", count: 3_000)
        let colons = String(repeating: "a: b: c\n", count: 5_000)
        let quotes = String(repeating: "a: \"b\n", count: 5_000)
        let unknown = (0..<1_000).map { "startDelay\($0): 1\n" }.joined()
        let names = "backends: [" + (0..<1_000).map { "logFile\($0)" }.joined(separator: ",") + "]\n"
        let sections = (0..<1_000).map { "log\($0): {kind: logFile}\n" }.joined() + "startDelay: x\n"
        let flow = String(repeating: "{a: [", count: 5_000)
        let questions = String(repeating: "? ", count: 20_000)
        for text in [duplicates, colons, quotes, unknown, names, sections, flow, questions] {
            await Task.yield()
            let error = #expect(throws: ConfigurationError.self) { try configuration(of: text) }
            #expect(error.map { $0.description.split(separator: "\n").count <= 101 } == true, "\(text.prefix(30))")
        }
    }
}
