import TestSupport

@testable import BackendConfiguration

@Suite("The text of a config file")
struct ConfigurationNodeTests {
    @Test func `An address in a section on one line is not a comment`() throws {
        let text = "{backends: [terminalTitle], terminalTitle: {format: https://ntfy.sh/x}}"
        let configuration = try configuration(of: text)
        #expect(configuration.backends[0].values["format"] == "https://ntfy.sh/x")
    }

    @Test(arguments: [
        // As by Python's json and PHP: an emoji in two escapes, and slashes with a backslash.
        (#"{"terminalTitle":{"format":"\ud83d\ude00 \uD83D\uDE00\/\u00e4"}}"#, "\u{1F600} \u{1F600}/\u{E4}"),
        (#"{"terminalTitle": {"format": "\\ud83d\\ude00 \\\ud83d\ude00"}}"#, #"\ud83d\ude00 \\#u{1F600}"#),
        ("{\n\t\"terminalTitle\":\n\t{\t\"format\": \n\t\t\"a\" }\n}", "a"),
    ])
    func `JSON is read as it is written by programs`(text: String, format: SettingValue) throws {
        let configuration = try configuration(
            of: text,
            file: "indicator.json",
            overrides: ["backends": ["terminalTitle"]]
        )
        #expect(configuration.backends[0].values["format"] == format)
    }
}
