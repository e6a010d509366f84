import InMemoryLogging
import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

private final class MadeBackends: Sendable {
    let all = Locked<[InMemoryBackend]>([])
}

extension BackendRegistry {
    /// The kinds of the product, with their settings and what they refuse; their backends only record.
    fileprivate static func recording(_ record: @escaping @Sendable (InMemoryBackend) -> Void) -> Self {
        let kinds = standard.kinds.map { kind in
            BackendKind(name: kind.name, summary: kind.summary, settings: kind.configured) { context, configured in
                _ = try configured.make(context)
                let backend = InMemoryBackend(name: context.name)
                record(backend)
                return backend
            }
        }
        return Self(kinds: kinds)
    }
}

/// An indicator, its config file, and the backends that were created for it.
private struct Fixture {
    let folder: TemporaryDirectory
    let path: String
    let indicator: IndicatorManager
    let log = InMemoryLogHandler()
    private let backends = MadeBackends()
    var made: [InMemoryBackend] { backends.all.withLock(\.self) }

    init(_ text: String, isReloaded: Bool = true) throws {
        folder = try TemporaryDirectory()
        path = try folder.save(text)
        let (log, backends) = (log, backends)
        var source = ConfigurationSource(path: path)
        source.logger = Logger(label: "test") { _ in log }
        source.logger.logLevel = .debug
        source.isReloaded = isReloaded
        source.registry = .recording { made in backends.all.withLock { $0.append(made) } }
        indicator = IndicatorManager.configured(from: source)
    }

    var names: [String] { indicator.backendStatuses.map(\.name) }

    /// Writes the file, and waits for a condition, whose failure is one of the test.
    func save(_ text: String, at location: SourceLocation = #_sourceLocation, until condition: () -> Bool) async throws
    {
        try folder.save(text)
        await expectEventually(at: location, condition)
    }

    /// The indicator's configuration problems, as a report.
    var problems: String {
        ConfigurationError(indicator.configurationProblems).description.replacing("\(folder.path)/", with: "")
    }

    func messages(_ level: Logger.Level) -> [String] {
        log.entries.filter { $0.level >= level }.map { $0.message.description.replacing("\(folder.path)/", with: "") }
    }
}

@Suite("An indicator with a config file", .timeLimit(.minutes(10)))
struct ConfigurationReloadTests {
    /// Observes nothing: other tests post in the same center.
    private static let text = """
        startDelay: 0
        observe: []
        backends: [terminalTitle, logFile, audit]
        logFile: {path: /tmp/a.log}
        audit: {kind: logFile, path: /tmp/b.log}
        """

    @Test func `uses the defaults for invalid settings, and keeps the mistakes`() async throws {
        let fixture = try Fixture(
            """
            startDelay: soon
            completionDelay: 3
            observe: []
            backends: [terminalTitle, telegraph, webhook, audit]
            webhook: {format: json}
            audit: {kind: logFile, path: /tmp/b.log, format: yaml}
            enabled: false
            """
        )
        let mistakes = """
            indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found 'soon'
            indicator.yaml:4:27: error: unknown backend 'telegraph'; expected a section with a 'kind', or one of: \
            terminalTitle, desktopNotification, dbusProperty and 11 more
            indicator.yaml:5:1: error: 'webhook': there is no address; set 'url' or 'urlFile'
            indicator.yaml:6:50: error: 'format': expected one of json, text, found 'yaml'
            """
        #expect(
            fixture.messages(.warning) == ["The configuration has mistakes; what is invalid is not used:\n\(mistakes)"]
        )
        #expect(fixture.problems == mistakes)
        #expect(!fixture.indicator.isEnabled && fixture.indicator.delays.startDelay == .seconds(1))
        #expect(fixture.indicator.delays.completionDelay == .seconds(3))
        #expect(fixture.names == ["terminalTitle", "audit"])

        try await fixture.save("startDelay: 2\nobserve: []\nbackends: [audit]\naudit: {kind: logFile, path: /b}\n") {
            fixture.indicator.delays.startDelay == .seconds(2) && fixture.names == ["audit"]
        }
        #expect(fixture.problems == "")
    }

    @Test func `follows its file: only changed backends are restarted, and no activity is lost`() async throws {
        let fixture = try Fixture(Self.text)
        let indicator = fixture.indicator
        indicator.start("job", label: "Working")
        #expect(await eventually { fixture.made.count == 3 && fixture.made.allSatisfy(\.isVisible) })

        try fixture.folder.save(
            """
            startDelay: 0
            completionDelay: 7
            observe: []
            backends: [logFile, audit, dbusProperty]
            logFile: {path: /tmp/a.log}
            audit: {kind: logFile, path: /tmp/b.log, format: text}
            """
        )
        #expect(await eventually { fixture.made.count == 5 && fixture.made[3...].allSatisfy(\.isVisible) })
        #expect(await eventually { indicator.delays.completionDelay == .seconds(7) })
        #expect(Set(fixture.names) == ["logFile", "audit", "dbusProperty"])
        #expect(indicator.activityCount == 1 && indicator.isVisible)
        let made = fixture.made
        #expect(made.map(\.name) == ["terminalTitle", "logFile", "audit", "audit", "dbusProperty"])
        #expect(await eventually { made.map(\.stopCount) == [1, 0, 1, 0, 0] })
        #expect(made[1].startCount == 1 && made[1].snapshots.count == 1)
        let message = "The configuration was reloaded from indicator.yaml"
        #expect(await eventually { fixture.messages(.debug).contains(message) })
    }

    @Test func `keeps its configuration while the file is invalid, and reports all mistakes once`() async throws {
        let fixture = try Fixture(Self.text)
        let broken = "startDelay: soon\nbackends: [telegraph]\n"
        try await fixture.save(broken) { !fixture.messages(.error).isEmpty }
        // The same text with a new date, the same mistakes in another text, and an explicit reload.
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: fixture.path)
        try fixture.folder.save(broken + "\n")
        await #expect(throws: ConfigurationError.self) { try await fixture.indicator.reloadConfiguration() }
        #expect(
            fixture.messages(.error) == [
                """
                The configuration was not reloaded; the previous one remains in effect:
                indicator.yaml:1:13: error: 'startDelay': expected a number of seconds, zero or more, found 'soon'
                indicator.yaml:2:12: error: unknown backend 'telegraph'; expected a section with a 'kind', or one of: \
                terminalTitle, desktopNotification, dbusProperty and 10 more
                """
            ]
        )
        // A kind rejects its settings.
        try fixture.folder.save("backends: [terminalTitle, audit]\naudit: {kind: webhook}\n")
        await #expect(throws: ConfigurationError.self) { try await fixture.indicator.reloadConfiguration() }
        #expect(fixture.indicator.delays.startDelay == .zero)
        #expect(fixture.names == ["terminalTitle", "logFile", "audit"])
        #expect(fixture.made.map(\.stopCount) == [0, 0, 0])

        try await fixture.save(Self.text + "\ncompletionDelay: 2\n") {
            fixture.indicator.delays.completionDelay == .seconds(2)
        }
        #expect(fixture.made.count == 3)
    }

    @Test func `ignores events that do not change the file's text`() async throws {
        let fixture = try Fixture(Self.text)
        // A second watcher of the same file shows when the indicator's watcher must have seen a change.
        let seen = Locked(0)
        let watcher = try FileWatcher(paths: [fixture.path], on: ServiceThread(name: "watcher", idleTime: .zero)) {
            seen.withLock { $0 += 1 }
        }
        defer { watcher.stop() }
        let steps: [() throws -> Void] = [
            { try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: fixture.path) },
            { try fixture.folder.save(Self.text) },
            { try FileManager.default.removeItem(atPath: fixture.path) },
            { try fixture.folder.save(Self.text) },
        ]
        for step in steps {
            let before = seen.withLock { $0 }
            try step()
            #expect(await eventually { seen.withLock { $0 } > before })
        }
        // When a later change is applied, the earlier ones have been processed.
        try await fixture.save(Self.text + "\ncompletionDelay: 2\n") {
            fixture.indicator.delays.completionDelay == .seconds(2)
        }
        await fixture.indicator.shutdown()
        #expect(fixture.made.count == 3)
        #expect(fixture.messages(.error) == [])
    }

    @Test func `keeps settings that the app has changed and the file has not`() async throws {
        let fixture = try Fixture(Self.text, isReloaded: false)
        fixture.indicator.isEnabled = false
        fixture.indicator.delays.completionDelay = .seconds(9)
        try fixture.folder.save(Self.text.replacing("observe: []", with: "observe: [alamofire]"))
        try await fixture.indicator.reloadConfiguration()
        #expect(!fixture.indicator.isEnabled)
        #expect(fixture.indicator.delays.completionDelay == .seconds(9))
    }

    @Test func `observes the notifications that the file lists`() async throws {
        let fixture = try Fixture("backends: []\nobserve: []\n", isReloaded: false)
        let request = NSObject()
        let post = { NotificationCenter.default.post(name: .indicatorTaskDidResume, object: request) }
        post()
        #expect(fixture.indicator.activityCount == 0)
        try fixture.folder.save("backends: []\nobserve: [indicator]\n")
        try await fixture.indicator.reloadConfiguration()
        post()
        // Other tests post in the same center: theirs may count, too.
        #expect(fixture.indicator.activityCount >= 1)
        NotificationCenter.default.post(name: .indicatorTaskDidComplete, object: request)
    }

    @Test func `serializes concurrent reloads`() async throws {
        let fixture = try Fixture(Self.text)
        let indicator = fixture.indicator
        try await withThrowingTaskGroup { group in
            for round in 0..<20 {
                try fixture.folder.save(Self.text + "\nterminalTitle: {format: \"\(round)\"}\n")
                for _ in 0..<5 { group.addTask { try? await indicator.reloadConfiguration() } }
            }
        }
        try await fixture.indicator.reloadConfiguration()
        #expect(fixture.names.sorted() == ["audit", "logFile", "terminalTitle"])
        #expect(fixture.messages(.error).isEmpty)
        let titles = fixture.made.filter { $0.name == "terminalTitle" }
        #expect(await eventually { titles.dropLast().allSatisfy { $0.startCount == $0.stopCount } })
    }

    @Test("stops following its file when it is shut down, or when it is no longer referenced")
    func ends() async throws {
        let fixture = try Fixture(Self.text)
        await fixture.indicator.shutdown()
        try fixture.folder.save(Self.text + "\ncompletionDelay: 2\n")
        try await fixture.indicator.reloadConfiguration()
        #expect(fixture.indicator.delays.completionDelay == .milliseconds(200))

        weak var released: IndicatorManager?
        do {
            let other = try Fixture(Self.text)
            released = other.indicator
        }
        #expect(await eventually { released == nil })
    }

    private func places(_ folder: TemporaryDirectory) -> [String: String] {
        [
            "HOME": "\(folder.path)/home", "XDG_CONFIG_HOME": "\(folder.path)/config", "XDG_CONFIG_DIRS": folder.path,
            "XDG_RUNTIME_DIR": folder.path, "PATH": "/usr/bin:/bin",
        ]
    }

    @Test("follows the first file that appears, and one that appears at a location of higher precedence")
    func appears() async throws {
        let folder = try TemporaryDirectory()
        let log = InMemoryLogHandler()
        let indicator = IndicatorManager.configured(
            from: ConfigurationSource(
                for: "my-app",
                environment: places(folder),
                registry: .recording { _ in },
                overrides: ["observe": []],
                isReloaded: true,
                logger: Logger(label: "test") { _ in log }
            )
        )
        #expect(indicator.delays.startDelay == .seconds(1))
        try folder.save("startDelay: 2\n", to: "config/indicator/indicator.yaml")
        #expect(await eventually { indicator.delays.startDelay == .seconds(2) })
        try folder.save("{\"startDelay\": 3}\n", to: "config/my-app/indicator.json")
        #expect(await eventually { indicator.delays.startDelay == .seconds(3) })
        // One at a location of lower precedence changes nothing.
        try folder.save("startDelay: 9\n", to: "indicator/indicator.yaml")
        try folder.save("startDelay: 4\n", to: "config/my-app/indicator.yaml")
        #expect(await eventually { indicator.delays.startDelay == .seconds(4) })
        #expect(log.entries.map(\.level).allSatisfy { $0 <= .info }, "\(log.entries)")
    }

    @Test("omits backends that have no surface here, without a warning; one that should work is reported")
    func notApplicable() async throws {
        let folder = try TemporaryDirectory()
        // Neither a terminal nor a bus.
        let helper = try HelperProcess(["-"], wrapper: ["setsid", "--wait"], environment: places(folder))
        #expect(await helper.says { $0.contains("warning") || $0 == "ready" } == "ready")
        #expect(await helper.says(to: "backends") { $0.hasPrefix("backends") } == "backends ")
        // There is no terminal for the title, but there could be a bus for the property.
        try folder.save("backends: [terminalTitle, dbusProperty]\n", to: "config/indicator/indicator.yaml")
        #expect(await helper.says { $0.contains("warning") }?.contains("'dbusProperty' is unavailable") == true)
        #expect(await helper.says(to: "backends") { $0.hasPrefix("backends") } == "backends dbusProperty")
    }

    @Test(.needs("tmux", package: "tmux")) func `prints a mistake once, and nothing else`() async throws {
        let folder = try TemporaryDirectory()
        try folder.save("startDelay: soon\n")
        try folder.save("backends: auto\n", to: "auto.yaml")
        let helper = try Command.built("test-probe")
        try await Tmux.withServer { tmux in
            let run =
                "env -u INDICATOR_CONFIG -u INDICATOR_TESTS XDG_CONFIG_HOME=\(folder.path) XDG_CONFIG_DIRS=/nonexistent"
            for (file, bus) in [("-", ""), ("-", "unix:path=/nonexistent"), ("auto.yaml", ""), ("indicator.yaml", "")] {
                let probe = "\(run) DBUS_SESSION_BUS_ADDRESS=\(bus) \(helper) app \(file) plain"
                // Of this run: the screen may still have the end of the one before.
                let end = "ended \(file)\(bus)"
                try await tmux.type("clear; cd \(folder.path); \(probe); echo \(end.replacing(" ", with: "' '"))")
                #expect(try await eventually { try await tmux.screen.contains(end) })
                let lines = try await tmux.screen.split(separator: "\n").prefix { !$0.hasPrefix("ended") }
                let text = lines.filter { !$0.contains(/^(pid \d+|ready|shown)$/) }.joined()
                #expect(file == "indicator.yaml" || text.isEmpty, "\(text)")
                #expect(text.components(separatedBy: "'startDelay':").count <= 2, "\(text)")
                #expect(file != "indicator.yaml" || text.contains("'startDelay':"), "\(text)")
            }
        }
    }

    @Test("compiles no regular expression, of Swift or of Foundation, which takes up to 2 ms and 1.8 MiB")
    func regularExpressions() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.save("startDelay: 0.5\nbackends: [logFile]\nlogFile: {path: \(folder.path)/log}\n")
        // The dynamic linker reports functions of other libraries when they are called for the first time. Foundation
        // calls uregex_open, whose name begins with "swift_" there, for each regular expression; Swift's literals call
        // `Regex.init(_regexString:version:)`.
        let run = #"echo return | env -u LD_BIND_NOW LD_DEBUG=bindings "$0" app "$1" delays 2>&1"#
        let result = try await Command.run(
            "bash",
            [
                "-c", "\(run) | grep -aoE '(uregex_open|inotify_add_watch)\\b|_regexA07version' | sort -u",
                try Command.built("test-probe"), path,
            ]
        )
        #expect(result.output == "inotify_add_watch\n")
    }
}

/// Runs in a separate process: a process has one shared indicator.
@Suite("The shared indicator", .timeLimit(.minutes(10)))
struct SharedIndicatorTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func `is configured once; a second attempt is logged and changes nothing`() async throws {
        let path = try folder.save("startDelay: 3\nbackends: [memory]\n")
        let helper = try HelperProcess([path, "shared"])
        #expect(await helper.says("ready"))
        #expect(await helper.says("backends memory", to: "backends"))
        #expect(await helper.says(to: "shared") { $0.contains("'again'") && $0.contains("already") } != nil)
        #expect(await helper.says("shared: delay 3.0 seconds, enabled, count 2"))
        // It follows its file like any other.
        try folder.save("startDelay: 4\nbackends: [memory]\nenabled: false\n")
        #expect(await helper.says("delay 4.0 seconds"))
        #expect(await helper.says("done shutdown", to: "shutdown"))
        #expect(await helper.says(to: "shared") { $0.contains("'again'") && $0.contains("shut down") } != nil)
        #expect(await helper.says("shared: delay 4.0 seconds, disabled, count 2"))
    }
}
