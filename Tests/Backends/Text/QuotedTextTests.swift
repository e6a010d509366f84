import Testing

@testable import DisplayText

@Suite("The nearest name")
struct NearestNameTests {
    private let names = ["enabled", "startDelay", "completionDelay", "logFile", "path"]

    @Test(
        "is found for typos",
        arguments: [
            ("startdelay", "startDelay"), ("start_delay", "startDelay"), ("strtDelay", "startDelay"),
            ("satrtDelay", "startDelay"), ("enable", "enabled"), ("logfile", "logFile"), ("paht", "path"),
        ]
    )
    func finds(name: String, meant: String) {
        #expect(NearestName.find(for: name, among: names) == meant)
    }

    @Test("is not found for unrelated names", arguments: ["colour", "x", "", String(repeating: "a", count: 100_000)])
    func findsNothing(name: String) {
        #expect(NearestName.find(for: name, among: names) == nil)
    }
}
