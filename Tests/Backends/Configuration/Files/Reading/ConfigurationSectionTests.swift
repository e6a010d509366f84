import Foundation
import InMemoryLogging
import IndicatorCore
import IndicatorTesting
import Logging
import TestSupport
import Testing

@testable import BackendConfiguration
@testable import IndicatorBackends

@Suite("A section of an app's own file", .timeLimit(.minutes(10)))
struct ConfigurationSectionTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func load(
        _ text: String,
        file: String = "my-app.yaml",
        section: String? = "indicator",
        registry: BackendRegistry = .forTests()
    ) throws(ConfigurationError) -> IndicatorConfiguration {
        guard let path = try? folder.write(text, to: file) else { preconditionFailure("no folder for the test") }
        return try IndicatorConfiguration.load(
            from: ConfigurationSource(
                for: "my-app",
                path: path,
                section: section,
                environment: ["HOME": "/home/user"],
                registry: registry
            )
        )
    }

    private func report(_ text: String, section: String = "indicator") throws -> [String] {
        let error = try #require(throws: ConfigurationError.self) { try load(text, section: section) }
        return error.description.replacing("\(folder.path)/", with: "").split(separator: "\n").map(String.init)
    }

    private let text = """
        listen: "*:8080"
        startDelay: not ours
        plugins: [a, {b: !custom 7}]
        listen2: &defaults {retries: 3, retries: 4}
        indicator:
          startDelay: 3
          backends: [logFile]
          logFile: {path: /var/log/x, keep: 7}
        other: {<<: *defaults, backends: [what, is, this]}

        """

    @Test("holds the settings, and everything beside it is ignored")
    func settings() throws {
        let configuration = try load(text)
        #expect(configuration.delays.startDelay == .seconds(3))
        #expect(configuration.backends.map(\.name) == ["logFile"])
        #expect(configuration.warnings.isEmpty)
        let setting = configuration.effectiveSettings.first { $0.key == "logFile.keep" }
        #expect(setting?.source == "\(folder.path)/my-app.yaml:8")
    }

    @Test("may be nested, and in JSON")
    func nested() throws {
        let json = #"{"port": 80, "ui": {"colour": "red", "indicator": {"startDelay": 3}}}"#
        #expect(try load(json, file: "my-app.json", section: "ui.indicator").delays.startDelay == .seconds(3))
    }

    @Test(
        "that is missing or empty means the defaults",
        arguments: ["", "port: 80\n", "indicator:\n", "indicator: {}\n", "indicator: null\n"]
    )
    func missing(text: String) throws {
        let configuration = try load(text)
        #expect(configuration.delays == .standard)
        #expect(configuration.warnings.isEmpty)
    }

    @Test("with a misspelled name causes a warning")
    func misspelledName() throws {
        let configuration = try load("Indicator: {startDelay: 3}\n")
        let warnings = configuration.warnings.map {
            $0.line(severity: "warning").replacing("\(folder.path)/", with: "")
        }
        let text = "there is no section 'indicator', but one named 'Indicator'; the defaults apply"
        #expect(warnings == ["my-app.yaml:1:1: warning: \(text)"])
    }

    @Test("has its mistakes reported with the file's lines and the section's name, and no others")
    func mistakes() throws {
        let text = """
            startdelay: 1
            indicator:
              startdelay: 1
              completionDelay: soon
              backends: [logFile, what]
              keep: 1

            """
        #expect(
            try report(text) == [
                "my-app.yaml:3:3: error: in 'indicator': unknown key 'startdelay', did you mean 'startDelay'?",
                "my-app.yaml:4:20: error: in 'indicator': 'completionDelay': expected a number of seconds, zero or more, "
                    + "found 'soon'",
                "my-app.yaml:5:14: error: in 'indicator': 'logFile' needs 'path', the path of a file",
                "my-app.yaml:5:23: error: in 'indicator': unknown backend 'what'; expected a section with a 'kind', or "
                    + "one of: terminalTitle, dbusProperty, logFile, desktopNotification",
                "my-app.yaml:6:3: error: in 'indicator': unknown key 'keep'; known keys: enabled, startDelay, "
                    + "completionDelay, minimumVisibleTime, accessible, observe, backends, terminalTitle, dbusProperty, logFile, "
                    + "desktopNotification",
            ]
        )
    }

    @Test("that is not a section, or is duplicated, is a mistake")
    func noSection() throws {
        #expect(
            try report("ui: {indicator: 7}\n", section: "ui.indicator")
                == ["my-app.yaml:1:17: error: in 'ui.indicator': expected 'key: value' lines, found '7'"]
        )
        #expect(
            try report("indicator: {}\na: 1\na: 2\nindicator: {}\n")
                == [
                    "my-app.yaml:4:1: error: in 'indicator': duplicate key 'indicator', first used on line 1"
                ]
        )
    }

    @Test("is read despite a syntax error beside it")
    func syntax() throws {
        let path = try folder.write("indicator:\n  startDelay: 3\nother: [1, 2\nlast: 1\n", to: "my-app.yaml")
        let source = ConfigurationSource(
            for: "my-app",
            path: path,
            section: "indicator",
            environment: [:],
            registry: .forTests()
        )
        let (configuration, mistakes) = source.read()
        #expect(configuration.delays.startDelay == .seconds(3))
        #expect(mistakes.count == 1)
        #expect(mistakes.first?.message.hasPrefix("in ") == false)
    }

    @Test(
        "is read beside any number of asterisks that are not aliases",
        arguments: [
            "schedule: \"0 * * * *\"\n", "schedule: 0 * * * *\n", "schedule: '* * * * *'\n", "# * * * *\n",
            "text: |\n  * one\n  * two: *three, *four\n", "text: >-\n  * one\n    * two\n", "list: [a*, \"*b\"]\n",
        ]
    )
    func asterisks(block: String) throws {
        let lines = block.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
        let jobs = (1...30).map { "  job\($0):\n\(lines)\n    size: 1\n" }.joined()
        #expect(try load("jobs:\n\(jobs)indicator: {startDelay: 3}\n").delays.startDelay == .seconds(3))
        #expect(try load("indicator: {startDelay: 3}\njobs:\n\(jobs)").delays.startDelay == .seconds(3))
    }

    @Test("is read beside many aliases that expand to little")
    func manyAliases() throws {
        let text = "base: &base {retries: 3}\n" + (1...300).map { "job\($0): {<<: *base, size: *base}\n" }.joined()
        #expect(try load(text + "indicator: {startDelay: 3}\n").delays.startDelay == .seconds(3))
    }

    @Test("is read with aliases that expand to billions of values, in it or beside it", arguments: ["", "  "])
    func aliasBomb(indentation: String) throws {
        let names = "abcdefghi".map(String.init)
        var lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
        for (name, previous) in zip(names.dropFirst(), names) {
            let list = Array(repeating: "*\(previous)", count: 9).joined(separator: ", ")
            lines.append("\(name): &\(name) [\(list)]")
        }
        // Yams compares the keys of a map.
        lines += ["? *i", ": 1"]
        let bomb = lines.map { "\(indentation)\($0)\n" }.joined()
        let text = indentation.isEmpty ? bomb + "indicator:\n  startDelay: 3\n" : "indicator:\n" + bomb
        if indentation.isEmpty {
            #expect(try load(text).delays.startDelay == .seconds(3))
        } else {
            let keys = try report(text).map { $0.contains("unknown key") }
            #expect(keys == Array(repeating: true, count: 9) + [false])
        }
    }

    @Test("is read beside an alias without its anchor, and beside one of an alias of an alias, and so on")
    func aliasesElsewhere() throws {
        #expect(try load("path: *.log\nindicator: {startDelay: 3}\n").delays.startDelay == .seconds(3))
        for (open, close) in [("[", "]"), ("", "")] {
            let chain = (1...20_000).map { "k\($0): &k\($0) \(open)*k\($0 - 1)\(close)\n" }.joined()
            let text = "k0: &k0 1\n\(chain)indicator: {startDelay: 3, completionDelay: *k0}\n"
            #expect(try load(text).delays.completionDelay == .seconds(1))
        }
    }

    @Test("has the values that its aliases refer to, and the asterisks of its strings")
    func aliases() throws {
        let configuration = try load(
            """
            names: [&name audit, &start 4]
            log: &log
              kind: logFile
              path: "/tmp/*a*.log"
            indicator:
              startDelay: *start
              backends: [*name, terminalTitle]
              audit: *log
              terminalTitle: {format: '* {label}'}
            """
        )
        #expect(configuration.delays.startDelay == .seconds(4))
        #expect(configuration.backends.map(\.name) == ["audit", "terminalTitle"])
        let values = configuration.effectiveSettings.filter { ["audit.path", "terminalTitle.format"].contains($0.key) }
        #expect(values.map(\.value) == ["/tmp/*a*.log", "* {label}"])
    }

    @Test(
        "is read from the first of several documents",
        arguments: ["---\nother: 1\n", "---\nindicator: {startDelay: x}\n...\n---\n[\n", "...\n---\n- &a *a\n"]
    )
    func laterDocuments(rest: String) throws {
        #expect(try load("---\nindicator: {startDelay: 3}\n\(rest)").delays.startDelay == .seconds(3))
    }

    @Test("is not used in the files of the standard locations")
    func standardLocations() throws {
        try folder.write("startDelay: 3\n", to: "my-app/indicator.yaml")
        let configuration = try IndicatorConfiguration.load(
            from: ConfigurationSource(
                for: "my-app",
                section: "indicator",
                environment: ["XDG_CONFIG_HOME": folder.path],
                registry: .forTests()
            )
        )
        #expect(configuration.delays.startDelay == .seconds(3))
    }

    @Test("is read again when the file changes")
    func reload() async throws {
        let path = try folder.write("indicator: {startDelay: 3}\n", to: "my-app.yaml")
        let log = InMemoryLogHandler()
        let indicator = IndicatorManager.configured(
            from: ConfigurationSource(
                for: "my-app",
                path: path,
                section: "indicator",
                environment: [:],
                registry: .forTests(),
                defaults: ConfigurationValues(observe: [], backends: []),
                reloadTriggers: .change,
                logger: Logger(label: "test") { _ in log }
            )
        )
        #expect(indicator.delays.startDelay == .seconds(3))
        try folder.write("port: 80\nindicator: {startDelay: 4}\n", to: "my-app.yaml")
        #expect(await eventually { indicator.delays.startDelay == .seconds(4) })
        try folder.write("port: 81\nindicator: {startDelay: x}\n", to: "my-app.yaml")
        #expect(await eventually { !indicator.configurationProblems.isEmpty })
        #expect(indicator.delays.startDelay == .seconds(4))
        #expect(indicator.configurationProblems.first?.location == .file(path: path, line: 2, column: 25))
        await indicator.shutdown()
    }

    @Test("is checked with the app's own kinds, including the errors of their factories")
    func ownKinds() throws {
        struct Refusal: Error, CustomStringConvertible { let description = "'from' is after 'to'" }
        var registry = BackendRegistry()
        registry.register(
            BackendKind(name: "ledStrip", summary: "the strip on the shelf") { _, _ in throw Refusal() }
        )
        let error = try #require(throws: ConfigurationError.self) {
            try load("indicator:\n  backends: [ledStrip]\n", registry: registry)
        }
        #expect(
            error.description.replacing("\(folder.path)/", with: "")
                == "my-app.yaml:2:14: error: in 'indicator': 'ledStrip': 'from' is after 'to'"
        )
    }
}
