import IndicatorCore
import Testing

@testable import BackendConfiguration

@Suite("The text of a config file")
struct ConfigurationNodeTests {
    @Test
    func `An address in a section on one line is not a comment`() throws {
        let text = "{backends: [terminalTitle], terminalTitle: {format: https://ntfy.sh/x}}"
        let configuration = try configuration(of: text)
        #expect(configuration.backends[0].values["format"] == "https://ntfy.sh/x")
    }

    /// YAML refuses each of them.
    @Test(
        "JSON is read as JSON",
        arguments: [
            #"{"terminalTitle": {"format": "\ud83d\ude00"}}"#,
            "{\"terminalTitle\": {\"format\"\n:\n\t\"\u{1F600}\"}}",
        ]
    )
    func json(text: String) throws {
        let configuration = try configuration(
            of: text,
            file: "indicator.json",
            overrides: .init(backends: ["terminalTitle"])
        )
        #expect(configuration.backends[0].values["format"] == "\u{1F600}")
    }

    @Test
    func `A name in JSON may be long, and its position counts characters`() throws {
        let name = String(repeating: "\u{E4}", count: 2000)
        let error = try #require(throws: ConfigurationError.self) {
            try configuration(of: "{\"startDelay\": 1, \"\(name)\":\n1}", file: "indicator.json")
        }
        #expect(error.mistakes.map(\.location) == [.file(path: "indicator.json", .init(line: 1, column: 19))])
        #expect(error.mistakes[0].message.hasPrefix("unknown key"))
    }

    @Test(arguments: ["", "\n ", "{}", "null"])
    func `A JSON file without a value has the defaults`(text: String) throws {
        #expect(try configuration(of: text, file: "indicator.json").delays == .standard)
    }

    @Test
    func `Values are read as far as 100 levels deep`() throws {
        func problem(_ depth: Int) -> String? {
            let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            do throws(TextProblem) {
                _ = try ConfigurationNode.root(of: text, isJSON: true)
                return nil
            } catch {
                return error.message
            }
        }
        #expect(problem(100) == nil)
        #expect(problem(101) == "nested too deeply; settings are at most one section deep")
    }
}
