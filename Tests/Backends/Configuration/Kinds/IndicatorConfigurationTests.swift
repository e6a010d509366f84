import IndicatorBackends
import TestSupport

@testable import BackendConfiguration

@Suite("A configuration")
struct IndicatorConfigurationTests {
    private static let example = """
        enabled: true
        startDelay: 1.5            # seconds
        completionDelay: 0.3
        minimumVisibleTime: 2
        observe: [indicator, alamofire]
        backends: [terminalTitle, dbusProperty, logFile, audit]

        terminalTitle:
          format: "{spinner} {label} ({count}) - {app}"
          progress: off            # a word here, not one of YAML's booleans
        logFile:
          path: ~/.local/state/my-app/indicator.log
        audit:                     # a second log file, under a name of its own
          kind: logFile
          path: /var/log/my-app/audit.log
          format: text
          maxSize: 512 kB
        """

    @Test(arguments: [
        ("yaml", "%YAML 1.1\n---\nterminalTitle: {format: 'it''s {label}'}\n...\n", "it's {label}"),
        ("yaml", "terminalTitle:\n  format: >-\n    two\n    lines\n", "two lines"),
        // Not a comment.
        ("yaml", "{terminalTitle: {format: https://ntfy.sh/x}}", "https://ntfy.sh/x"),
        // As by Python's json and PHP: an emoji in two escapes, and slashes with a backslash.
        ("json", #"{"terminalTitle":{"format":"\ud83d\ude00 \uD83D\uDE00\/\u00e4"}}"#, "\u{1F600} \u{1F600}/\u{E4}"),
        ("json", #"{"terminalTitle": {"format": "\\ud83d\\ude00 \\\ud83d\ude00"}}"#, #"\ud83d\ude00 \\#u{1F600}"#),
        ("json", "{\n\t\"terminalTitle\":\n\t{\t\"format\": \n\t\t\"a\" }\n}", "a"),
    ])
    func `may be YAML in several styles, and JSON as programs write it`(
        type: String,
        text: String,
        format: SettingValue
    )
        throws
    {
        let overrides: [String: SettingValue] = ["backends": ["terminalTitle"]]
        let configuration = try configuration(of: text, file: "indicator.\(type)", overrides: overrides)
        #expect(configuration.backends[0].values["format"] == format)
    }

    @Test func `has a source for every setting`() throws {
        let configuration = try configuration(
            of: Self.example,
            environment: ["INDICATOR_START_DELAY": "3", "INDICATOR_AUDIT_PATH": "~/audit.log"],
            overrides: ["completionDelay": 4, "logFile.keep": 9]
        )
        let table = configuration.settings.map { "\($0.key) = \($0.value ?? "-") (\($0.source))" }
        #expect(
            table == [
                "enabled = true (indicator.yaml:1)",
                "startDelay = 3 (environment variable INDICATOR_START_DELAY)",
                "completionDelay = 4 (code)",
                "minimumVisibleTime = 2 (indicator.yaml:4)",
                "accessible = false (default)",
                "observe = [indicator, alamofire] (indicator.yaml:5)",
                "backends = [terminalTitle, dbusProperty, logFile, audit] (indicator.yaml:6)",
                #"terminalTitle.format = "{spinner} {label} ({count}) - {app}" (indicator.yaml:9)"#,
                "terminalTitle.title = auto (default)",
                "terminalTitle.progress = off (indicator.yaml:10)",
                "terminalTitle.status = auto (default)",
                "dbusProperty.bus = session (default)",
                "dbusProperty.name = - (default)",
                "logFile.path = /home/user/.local/state/my-app/indicator.log (indicator.yaml:12)",
                "logFile.format = json (default)",
                "logFile.maxSize = 10485760 (default)",
                "logFile.keep = 9 (code)",
                "logFile.events = [shown, hidden, label, finished] (default)",
                "audit.kind = logFile (indicator.yaml:14)",
                "audit.path = /home/user/audit.log (environment variable INDICATOR_AUDIT_PATH)",
                "audit.format = text (indicator.yaml:16)",
                "audit.maxSize = 512000 (indicator.yaml:17)",
                "audit.keep = 3 (default)",
                "audit.events = [shown, hidden, label, finished] (default)",
            ]
        )
    }

    @Test func `reads every setting from the environment, too, also of a backend that is nowhere else`() throws {
        let configuration = try configuration(
            of: Self.example,
            environment: [
                "INDICATOR_ENABLED": "no", "INDICATOR_START_DELAY": "0.25", "INDICATOR_COMPLETION_DELAY": "",
                "INDICATOR_OBSERVE": "alamofire", "INDICATOR_BACKENDS": "logFile, audit, second-log",
                "INDICATOR_LOG_FILE_PATH": "/tmp/environment.log", "INDICATOR_AUDIT_MAX_SIZE": "1 MiB",
                "INDICATOR_SECOND_LOG_KIND": "logFile", "INDICATOR_SECOND_LOG_PATH": "/tmp/second.log",
            ]
        )
        #expect(!configuration.isEnabled && configuration.observe == ["alamofire"])
        let delays = configuration.delays
        #expect(delays.startDelay == .milliseconds(250) && delays.completionDelay == .milliseconds(300))
        #expect(delays.minimumVisibleTime == .seconds(2))
        let backends = configuration.backends
        #expect(backends.map(\.name) == ["logFile", "audit", "second-log"])
        let paths: [SettingValue] = ["/tmp/environment.log", "/var/log/my-app/audit.log", "/tmp/second.log"]
        #expect(backends.map { $0.values["path"] } == paths && backends[1].values["maxSize"] == 1_048_576)
        #expect(configuration.warnings.isEmpty)
    }

    @Test(arguments: [
        ("INDICATOR_START_DELAY", "soon", "expected a number of seconds, zero or more, found 'soon'"),
        ("INDICATOR_ENABLED", "maybe", "expected true or false, found 'maybe'"),
        ("INDICATOR_BACKENDS", "logfile", "unknown backend 'logfile', did you mean 'logFile'?"),
        ("INDICATOR_BACKENDS", "logFile,", "expected a name, found an empty string"),
        ("INDICATOR_BACKENDS", "audit,audit", "'audit' is duplicated"),
        ("INDICATOR_OBSERVE", "everything", "expected one of indicator, alamofire, found 'everything'"),
        ("INDICATOR_AUDIT_KEEP", "-1", "expected a whole number from 0 to 1000, found '-1'"),
        ("INDICATOR_AUDIT_KIND", "logfile", "unknown kind 'logfile', did you mean 'logFile'?"),
    ])
    func `reports mistakes in the environment by variable`(variable: String, value: String, message: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try configuration(of: Self.example, environment: [variable: value])
        }
        #expect(error?.description == "environment variable \(variable): error: \(message)")
    }

    @Test func `warns of a variable that is nearly one of a setting`() throws {
        let warnings = try configuration(
            of: Self.example,
            environment: [
                "INDICATOR_STARTDELAY": "3", "INDICATOR_AUDIT_KEPE": "1", "INDICATOR_DBUS_PROPERTY_BUSS": "system",
                "INDICATOR_AUDIT_KEEP": "2", "INDICATOR_CONFIG": "x", "INDICATOR_IGNORE": "vi",
            ]
        ).warnings
        let remark = "warning: there is no such setting, did you mean INDICATOR"
        #expect(
            warnings.map { $0.line(severity: "warning") } == [
                "environment variable INDICATOR_AUDIT_KEPE: \(remark)_AUDIT_KEEP?",
                "environment variable INDICATOR_DBUS_PROPERTY_BUSS: \(remark)_DBUS_PROPERTY_BUS?",
                "environment variable INDICATOR_STARTDELAY: \(remark)_START_DELAY?",
            ]
        )
    }

    @Test func `gives overrides in code the highest precedence, and defaults in code the lowest`() throws {
        let values: [String: SettingValue] = [
            "enabled": false, "startDelay": 7, "observe": [], "backends": ["mine"], "mine.kind": "logFile",
            "mine.path": "~/mine.log",
        ]
        let environment = ["INDICATOR_START_DELAY": "3", "INDICATOR_BACKENDS": "terminalTitle"]
        let overridden = try configuration(of: Self.example, environment: environment, overrides: values)
        #expect(!overridden.isEnabled && overridden.delays.startDelay == .seconds(7))
        #expect(overridden.backends.map { $0.values["path"] } == ["/home/user/mine.log"])

        let defaulted = try configuration(of: Self.example, environment: environment, defaults: values)
        #expect(defaulted.delays.startDelay == .seconds(3) && defaulted.backends.map(\.name) == ["terminalTitle"])
        let defaultsOnly = try configuration(of: "", defaults: values)
        #expect(defaultsOnly.delays.startDelay == .seconds(7) && defaultsOnly.observe.isEmpty)
        #expect(defaultsOnly.backends.map(\.kind.name) == ["logFile"])
    }

    @Test func `reports mistakes in code by setting`() {
        let error = #expect(throws: ConfigurationError.self) {
            try configuration(
                of: "",
                overrides: [
                    "startDelay": -1, "backends": ["logFile", "mine", "command"], "logFile.path": ["a", "b"],
                    "logFile.fromat": "text", "logFile.keep": 1001, "mine.kind": "logfile", "logFile": [],
                    "startdelay": 1, "terminalTitel.format": "x", "command.run": [],
                ],
                // Of a kind that is not used.
                defaults: ["terminalTitle.fromat": "x"]
            )
        }
        #expect(
            error?.description == """
                'command.run' as set in code: error: expected a program and its arguments, found '[]'
                'logFile' as set in code: error: unknown key '' in 'logFile'; settings of logFile: path, format, \
                maxSize and 3 more
                'logFile.fromat' as set in code: error: unknown key 'fromat' in 'logFile', did you mean 'format'?
                'logFile.keep' as set in code: error: expected a whole number from 0 to 1000, found '1001'
                'logFile.path' as set in code: error: expected the path of a file, found a list
                'mine.kind' as set in code: error: unknown kind 'logfile', did you mean 'logFile'?
                'startDelay' as set in code: error: expected a number of seconds, zero or more, found '-1'
                'startdelay' as set in code: error: unknown key 'startdelay', did you mean 'startDelay'?
                'terminalTitel' as set in code: error: unknown key 'terminalTitel', did you mean 'terminalTitle'?
                'terminalTitle.fromat' as set in code: error: unknown key 'fromat' in 'terminalTitle', did you mean \
                'format'?
                """
        )
    }

    private func read(
        _ text: String,
        environment: [String: String] = [:],
        registry: BackendRegistry = .standard
    ) -> (configuration: IndicatorConfiguration, mistakes: [String]) {
        let source = ConfigurationSource(for: "my-app", environment: environment, registry: registry)
        var reader = ConfigurationReader(source, text: text, path: "indicator.yaml")
        let configuration = reader.read()
        return (configuration, reader.mistakes.map(\.message))
    }

    @Test func `uses a backend with a wrong address only if another layer has an address, too`() {
        let (variable, wrong) = ("INDICATOR_DBUS_PROPERTY_BUS", "backends: [dbusProperty]\ndbusProperty: {bus: [x]}")
        #expect(read(wrong).configuration.backends.isEmpty)
        for (text, bus) in [(wrong, "system"), ("backends: [dbusProperty]\ndbusProperty: {bus: system}", "a\0b")] {
            let (configuration, mistakes) = read(text, environment: [variable: bus])
            #expect(mistakes.count == 1)
            #expect(configuration.backends.map { $0.values["bus"] } == ["system"])
        }
    }

    @Test func `has the names that are right, in the file and in a variable`() {
        #expect(read("observe: [alamofire, indicatr]").configuration.observe == ["alamofire"])
        #expect(read("observe: [indicatr]").configuration.observe == ["indicator"])
        let (configuration, mistakes) = read("", environment: ["INDICATOR_OBSERVE": "alamofire,indicatr"])
        #expect(configuration.observe == ["alamofire"] && mistakes.count == 1)
    }

    @Test func `reports every required setting that is missing, except what an unreadable file may have`() {
        let login = BackendKind(name: "login", summary: "two required settings") { values in
            var (user, password) = ("", "")
            values.read("user", &user, .text, summary: "the user", isRequired: true)
            values.read("password", &password, .secret, summary: "the password", isRequired: true)
        } make: { context, _ in
            InMemoryBackend(name: context.name)
        }
        var registry = BackendRegistry.standard
        registry.register(login)
        let mistakes = read("backends: [login]", registry: registry).mistakes
        #expect(mistakes == ["'login' needs 'user', a string", "'login' needs 'password', a string"])
        let unreadable = read("a: b: c", environment: ["INDICATOR_BACKENDS": "login"], registry: registry)
        #expect(unreadable.mistakes.count == 1 && unreadable.configuration.backends.isEmpty)
    }

    @Test func `warns of unused sections, and checks them, too`() throws {
        let text = "backends: [terminalTitle]\nlogFile:\n  path: /tmp/a.log\naudit:\n  kind: command\n"
        #expect(
            try configuration(of: text).warnings.map { $0.line(severity: "warning") } == [
                "indicator.yaml:2:1: warning: the section 'logFile' is not used; to use it, list it in 'backends'",
                "indicator.yaml:4:1: warning: the section 'audit' is not used; to use it, list it in 'backends'",
            ]
        )
        #expect(try configuration(of: "logFile:\n  path: /tmp/a.log\n").warnings.count == 1)
        #expect(throws: ConfigurationError.self) { try configuration(of: "logFile:\n  keep: x\n") }
        // A list of backends for one run of the app is not a mistake in the file.
        #expect(try configuration(of: text, environment: ["INDICATOR_BACKENDS": "dbusProperty"]).warnings.isEmpty)
    }

    @Test(arguments: [
        ("pager: {}", 0, ["pager"]), ("backends: [pager]", 0, ["pager"]), ("x: {kind: foo}", 0, ["foo"]),
        ("pager: 3", 1, []),
    ])
    func `of another app may have sections of its kinds, with a warning, but no unknown values`(
        text: String,
        count: Int,
        unknown: [String]
    ) {
        var source = ConfigurationSource(for: "my-app", environment: [:])
        source.acceptsKindsOfApps = true
        var reader = ConfigurationReader(source, text: text, path: "x.yaml")
        let warnings = reader.read().warnings.map(\.message)
        #expect(reader.mistakes.count == count)
        #expect(warnings == unknown.map { "the backend '\($0)' is unknown here; the app may have it" })
    }

    @Test func `ignores an unused section of a kind that is not in the build`() throws {
        let text = "backends: [terminalTitle]\ndesktopNotification:\n  urgency: low\n"
        let registry = BackendRegistry.standard(without: "desktopNotification")
        #expect(try configuration(of: text, registry: registry).backends.map(\.name) == ["terminalTitle"])
    }
}
