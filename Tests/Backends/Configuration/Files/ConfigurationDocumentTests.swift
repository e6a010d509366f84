import Testing

@testable import BackendConfiguration

@Suite("The YAML of a config file")
struct ConfigurationDocumentTests {
    @Test(
        "is read about once when it is long, whatever it contains",
        arguments: [
            "a: 1\n", "startDelay: 1\n", "a: b: c\n", "a: \"b\n", "- a\n", "{a: [", "? ", "a: [1\n", "a: *b\n",
            "a: @\n",
            "'a': &x 1\n", "a: {b: 1, b: 2}\n", "---\n",
        ]
    )
    func cost(line: String) {
        func read(size: Int) -> ConfigurationDocument {
            ConfigurationDocument(String(repeating: line, count: size / line.utf8.count), limit: 1 << 16)
        }
        let document = read(size: 25_000)
        #expect(!document.problems.isEmpty || line == "- a\n")
        // Reading costs the same for each byte.
        #expect(document.bytesRead <= 1 << 16)
        #expect(read(size: 1 << 16).bytesRead <= 1 << 16)
    }

    @Test("is read for 1 MiB in total at most")
    func limit() {
        let document = ConfigurationDocument(String(repeating: "a: 1\n", count: 80_000))
        #expect((800_000...1 << 20).contains(document.bytesRead))
    }

    @Test("reports every duplicate key of a file of ordinary size")
    func duplicates() {
        let error = #expect(throws: ConfigurationError.self) {
            try configuration(of: String(repeating: "startDelay: 1\n", count: 20))
        }
        let places = error?.mistakes.map(\.location.description)
        #expect(places == (2...20).map { "indicator.yaml:\($0):1" })
    }

    @Test("warns of commas that other JSON readers reject, with their positions")
    func trailingCommas() throws {
        let text =
            "{\n  \"startDelay\": 1,\n  \"backends\": [\"terminalTitle\", ],\n  # \",}\"\n  \"observe\": [],\n}\n"
        let configuration = try configuration(of: text, file: "indicator.json")
        #expect(
            configuration.warnings.map { $0.line(severity: "warning") } == [
                "indicator.json:3:31: warning: a comma before ']' is not valid JSON; other programs reject it",
                "indicator.json:5:16: warning: a comma before '}' is not valid JSON; other programs reject it",
            ]
        )
        let plain = "{\"terminalTitle\": {\"format\": \"a,] \\\" ,}\"}, 'backends': ['terminalTitle']}"
        #expect(try BackendConfigurationTests.configuration(of: plain).warnings.isEmpty)
    }

    @Test("An address in a section on one line is no comment")
    func addressInFlow() throws {
        let text = "{backends: [terminalTitle], terminalTitle: {format: https://ntfy.sh/x}}"
        let configuration = try configuration(of: text)
        #expect(configuration.backends[0].settings.string("format") == "https://ntfy.sh/x")
    }
}
