import TestSupport

@testable import IndicatorCommands

@Suite struct ReplayCommandTests {
    private let demo: TestedProgram

    init() throws { demo = try TestedProgram("indicator-demo") }

    /// `Tests/IndicatorCoreTests/Resources/traces` are the files that the article's figures name.
    @Test func `Draws the figures of the article on the rules`() async throws {
        let article = try Article("IndicatorCore/IndicatorCore.docc/RulesOfVisibility.md")
        let figures = article.text.matches(of: /Trace `([a-z-]+)`:\n\n```\n([^`]*)```\n/)
        #expect(figures.count > 10)
        for figure in figures {
            let file = "\(WorkedExample.folder)/\(figure.1).json"
            let result = try await demo.run("replay", file, environment: ["LANG": "C.UTF-8"])
            #expect(result.output.replacing(#/ +\n/#, with: "\n") == figure.2, "Trace \(figure.1)")
        }
    }

    /// The tests of the core run all worked examples.
    @Test func `Prints the changes of a trace, whatever its form`() async throws {
        let name = "suspend-and-resume.json"
        let trace = try WorkedExample(file: name)
        let lines = trace.expected.map { #"{"t_ms": \#($0.t_ms), "visible": \#($0.visible)}"# + "\n" }.joined()
        let result = try await demo.run("replay", "--json", "\(WorkedExample.folder)/\(name)")
        #expect(result.output == lines && result.error == "" && result.status == 0)

        let encoder = JSONEncoder()
        let events = try trace.events.map { String(decoding: try encoder.encode($0), as: UTF8.self) + "\n" }.joined()
        let options = [
            ("--start-delay", trace.start_delay_ms), ("--completion-delay", trace.completion_delay_ms),
            ("--minimum-visible-time", trace.minimum_visible_time_ms),
        ].flatMap { [$0, "\(Double($1) / 1000)"] }
        let fromLines = try await demo.run(["replay", "-", "--json"] + options, input: events)
        #expect(fromLines.output == lines && fromLines.status == 0)
    }

    @Test(
        "What is not a trace is reported, and is an error unless it is empty",
        arguments: [
            ("-", "", "standard input: no events"), ("-", "\n \n", "standard input: no events"),
            ("-", #"{"events": []}"#, "standard input: no events"), ("-", "\u{FEFF}", "standard input: no events"),
            ("-", "{\"events\": [\n", "standard input:2: error: expected a value, found the end"),
            ("/does/not/exist", "", "/does/not/exist: error: cannot be opened: No such file or directory"),
            ("/tmp", "", "/tmp: error: cannot be read: Is a directory"),
        ]
    )
    func mistakes(file: String, trace: String, message: String) async throws {
        let result = try await demo.run("replay", file, input: trace)
        #expect(result.output == "" && result.error == message + "\n")
        #expect(result.status == (message.contains("error: ") ? 64 : 0))
    }

    @Test(
        "Changes have the unit of the trace, and options override its delays",
        arguments: [
            ("", #"{"time": 0.25, "event": "start"}"#, #""time": 1.25"#),
            ("0.0005", #"{"start_delay_ms": 7, "events": [{"t_ms": 0, "event": "start"}]}"#, #""t_ms": 0.5"#),
        ]
    )
    func units(delay: String, trace: String, time: String) async throws {
        let options = delay.isEmpty ? [] : ["--start-delay", delay]
        let result = try await demo.run(["replay", "-", "--json"] + options, input: trace)
        #expect(result.output == "{\(time), \"visible\": true}\n", "\(result.error)")
    }

    @Test func `A log is printed with its wall-clock times, and takes no delays`() async throws {
        let log = """
            {"time":"2026-11-26T14:02:00.500000Z","event":"shown","app":"x","pid":1}
            {"time":"2026-11-26T14:02:03.000000Z","event":"finished","label":"a","seconds":3.5,"app":"x","pid":1}
            {"time":"2026-11-26T14:02:03.250000Z","event":"hidden","app":"x","pid":1}

            """
        let result = try await demo.run("replay", "-", "--json", input: log)
        let changes = [("00.500", true), ("03.250", false)].map {
            "{\"time\": \"2026-11-26T14:02:\($0)Z\", \"visible\": \($1)}\n"
        }
        #expect(result.output == changes.joined())
        let timeline = try await demo.run("replay", "-", input: log)
        #expect(timeline.output.hasPrefix("times from 2026-11-26T14:01:59.500Z\n"), "\(timeline.output)")
        let refused = try await demo.run("replay", "-", "--start-delay", "1", input: log)
        #expect(refused.status == 64)
        let message = "a log has when the indicator was shown; delays can only be given for other traces"
        #expect(refused.error == "standard input: error: \(message)\n")
    }

    @Test(arguments: [
        (#""$0" replay "$1" >&-; echo "status $?""#, "status 0\n"),
        (
            #""$0" replay "$1" --json --start-delay 0 --completion-delay 0 | head -1; echo "${PIPESTATUS[0]}""#,
            "{\"t_ms\": 0, \"visible\": true}\n141\n"
        ),
    ])
    func `A closed output, or a reader that closes it, is not an error`(script: String, output: String) async throws {
        let events = (0..<50_000).map { "{\"t_ms\": \($0 * 3), \"event\": \"\($0 % 2 == 0 ? "start" : "stop")\"}\n" }
        let path = try demo.home.write(events.joined(), to: "t")
        let result = try await demo.run(["-c", script, demo.path, path], of: "bash")
        #expect(result.output == output && result.error == "")
    }
}
