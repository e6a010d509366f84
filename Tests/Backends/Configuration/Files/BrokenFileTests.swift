import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

/// A config file with mistakes, and the lines of its report.
struct BrokenFile: Sendable, CustomTestStringConvertible {
    let name: String
    var text = ""
    var reports: [String] = []

    var testDescription: String { name }
    var file: String { name.hasPrefix("JSON: ") ? "indicator.json" : "indicator.yaml" }

    /// Reads cases: a line `# name`, with a file of one line after ` | `, or else the lines of the file below it, and
    /// among them, with `> `, those of the report, of which one that ends with `…` is the beginning.
    static func cases(_ table: String) -> [Self] {
        table.split(separator: "\n", omittingEmptySubsequences: false).reduce(into: []) { cases, line in
            if line.hasPrefix("# ") {
                let parts = line.dropFirst(2).split(separator: " | ", maxSplits: 1).map(String.init)
                cases.append(Self(name: parts[0], text: parts.count > 1 ? parts[1] + "\n" : ""))
            } else if line.hasPrefix("> ") {
                cases[cases.count - 1].reports.append(String(line.dropFirst(2)))
            } else {
                cases[cases.count - 1].text += "\(line)\n"
            }
        }
    }
}

@Suite("A broken config file")
struct BrokenFileTests {
    private func report(_ bytes: [UInt8], file: String = "indicator.yaml") throws -> [String] {
        let folder = try TemporaryDirectory()
        let path = try folder.save(Data(bytes), to: file)
        let source = ConfigurationSource(for: "my-app", path: path, environment: ["HOME": "/home/user"])
        let error = try #require(throws: ConfigurationError.self) { try IndicatorConfiguration.load(from: source) }
        return error.description.split(separator: "\n").map {
            String($0).replacing("\(path):", with: "").replacing(#/^([0-9]+:[0-9]+: )error: /#) { String($0.1) }
        }
    }

    @Test("is reported completely, by lines", arguments: BrokenFile.values + BrokenFile.structure + BrokenFile.syntax)
    func report(of broken: BrokenFile) throws {
        let report = try report(Array(broken.text.utf8), file: broken.file)
        #expect(report.count == broken.reports.count)
        for (line, expected) in zip(report, broken.reports) {
            #expect(expected.hasSuffix("…") ? line.hasPrefix(expected.dropLast()) : line == expected, "\(line)")
        }
    }

    @Test(arguments: [
        (
            "startDelay: 1\nbackends: [x",
            "2:11: expected ',' or the end of what begins with a bracket in line 2, column 11"
        ),
        (
            "backends: " + String(repeating: "[", count: 10_000),
            "1:12: nested too deeply; settings are at most one section deep"
        ),
        (
            "backends: [zzzzzzzzzz]\n" + (10..<60).map { "s\($0): {kind: logFile, path: /a}\n" }.joined(),
            "1:12: unknown backend 'zzzzzzzzzz'; expected a section with a 'kind', or one of: terminalTitle, "
                + "desktopNotification, dbusProperty and 30 more"
        ),
    ])
    func `is reported, whatever its length`(text: String, expected: String) throws {
        #expect(try report(Array(text.utf8)) == [expected])
    }

    @Test func `is reported where it is not UTF-8`() throws {
        let report = try report(Array("terminalTitle:\n  format: caf".utf8) + [0xE9])
        #expect(report == ["2:14: this is not valid UTF-8; save the file as UTF-8"])
    }

    @Test(arguments: [
        #"terminalTitle: {format: "{a\e]0;x\a\nb}"}"#, #""\e[2J\u200f": 1"#, #"startDelay: "\e[2J""#,
        #"backends: ["\e[2J\x9b2J"]"#, "logFile: {path: \"\\e\\n\", format: \"\\u202e\"}",
    ])
    func `is quoted without control characters`(text: String) {
        let source = ConfigurationSource(for: "my-app", environment: [:], registry: .standard)
        var reader = ConfigurationReader(source, text: text, path: "x.yaml")
        _ = reader.read()
        #expect(!reader.mistakes.isEmpty)
        for mistake in reader.mistakes {
            let line = mistake.line(severity: "error")
            #expect(!line.unicodeScalars.contains { [.control, .format].contains($0.properties.generalCategory) })
        }
    }

    @Test(.timeLimit(.minutes(10))) func `is reported with at most 100 mistakes`() async {
        func lines(_ count: Int, _ line: (Int) -> String) -> String { (0..<count).map(line).joined() }
        for text in [
            lines(3_000) { _ in "startDelay: 1\n" },
            lines(5_000) { _ in "a: b: c\n" },
            lines(5_000) { _ in "a: \"b\n" },
            lines(5_000) { _ in "{a: [" },
            lines(20_000) { _ in "? " },
            lines(1_000) { "startDelay\($0): 1\n" },
            "backends: [\(lines(1_000) { "logFile\($0)," })]\n",
            lines(1_000) { "log\($0): {kind: command}\n" } + "startDelay: x\n",
        ] {
            await Task.yield()
            let error = #expect(throws: ConfigurationError.self) { try configuration(of: text) }
            #expect(error.map { $0.description.split(separator: "\n").count <= 101 } == true, "\(text.prefix(30))")
        }
    }
}
