import TestSupport

@Suite struct CheckConfigCommandTests {
    private let demo: TestedProgram

    init() throws { demo = try TestedProgram("indicator-demo") }

    @Test func `Check config reports every mistake`() async throws {
        let path = try demo.home.write("startdelay: 1\nlogFile:\n  keep: -3\n", to: "bad.yaml")
        let result = try await demo.run("check-config", path)
        #expect(result.status == 78 && result.output == "")
        let lines = result.error.replacing(path, with: "").split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasPrefix(":1:1: error: unknown key 'startdelay'"))
        #expect(lines.last?.hasPrefix(":3:9: error: ") == true)
    }

    @Test(arguments: [true, false])
    func `A kind that only the app has is a warning, a misspelled one a mistake`(isOfApp: Bool) async throws {
        let kind = isOfApp ? "pager" : "logFiel"
        let text = "backends: [console, pager]\nconsole: {kind: \(kind), size: 3}\npager: {}\n"
        let path = try demo.home.write(text, to: "app.yaml")
        let result = try await demo.run("check-config", path)
        #expect(result.status == (isOfApp ? 0 : 78))
        let warning = "warning: the backend 'pager' is unknown here; the app may have it"
        #expect(result.error.contains(isOfApp ? warning : "did you mean 'logFile'?"), "\(result.error)")
    }

    @Test func `Both commands use the file of an app, which may have kinds of its own`() async throws {
        let path = try demo.home.write("backends: [pager, logFile]\npager: {size: 3}\n", to: "my-app/indicator.yaml")
        let environment = ["XDG_CONFIG_HOME": demo.home.path, "COLUMNS": "200"]
        let checked = try await demo.run("check-config", "--app", "my-app", environment: environment)
        #expect(checked.status == 0 && checked.output.hasPrefix("\(path): no mistakes\n"), "\(checked.error)")
        let listed = try await demo.run("backends", "--app", "my-app", environment: environment)
        #expect(listed.status == 0 && listed.output.contains(/\nlogFile .*\/my-app\/indicator.log/), "\(listed.output)")
    }

    @Test func `Check config prints every setting with its source`() async throws {
        let path = try demo.home.write("startDelay: 0.5\nbackends: [logFile]\n", to: "good.yaml")
        let result = try await demo.run("check-config", path, environment: ["INDICATOR_COMPLETION_DELAY": "0.3"])
        #expect(result.status == 0 && result.error == "")
        let lines = result.output.split(separator: "\n").map { $0.replacing(#/ +/#, with: " ") }
        #expect(lines.contains("startDelay 0.5 \(path):1"))
        #expect(lines.contains("completionDelay 0.3 environment variable INDICATOR_COMPLETION_DELAY"))
        #expect(lines.contains("minimumVisibleTime 0 default"))
    }

    @Test func `Check config prints a reference that is a config file`() async throws {
        let reference = try await demo.run("check-config", "--reference")
        #expect(reference.status == 0)
        let path = try demo.home.write(reference.output, to: "reference.yaml")
        let result = try await demo.run("check-config", path)
        #expect(result.status == 0 && result.error == "")
        #expect(result.output.hasPrefix("\(path): no mistakes\n"))
    }
}
