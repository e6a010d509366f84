import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

@Suite struct LogFileKindTests {
    private let folder: TemporaryDirectory
    private let context = BackendContext(name: "audit", applicationName: "my-app", logger: Logger(label: "test"))

    init() throws { folder = try TemporaryDirectory() }

    private func availability(_ path: String) async -> Result<String?, Unavailability> {
        await (try? BackendKind.logFile.with(["path": .string(path)]))?.availability(context)
            ?? .failure(Unavailability(reason: "invalid"))
    }

    private func reason(_ path: String) async -> String? {
        if case .failure(let problem) = await availability(path) { problem.reason } else { nil }
    }

    @Test func `Settings reach the backend`() throws {
        let kind = try BackendKind.logFile.with(["path": "/x", "format": "text", "maxSize": 5, "keep": 7])
        let backend = try kind.make(context)
        let log = try #require(backend as? LogFileBackend)
        #expect(log.name == "audit")
        #expect(log.settings == LogFileBackend.Settings(path: "/x", format: .text, maxSize: 5, keep: 7))
    }

    @Test func `Events are a list in the file and in the environment`() throws {
        func load(_ events: String, environment: [String: String] = [:]) throws(ConfigurationError)
            -> SettingValue?
        {
            let path = try? folder.write("backends: [logFile]\nlogFile:\n  events: \(events)\n", to: "config.yaml")
            return try IndicatorConfiguration.load(
                from: ConfigurationSource(for: "my-app", path: path, environment: environment)
            )
            .backends.first?.values["events"]
        }
        func report(_ events: String) throws -> [String] {
            let error = try #require(throws: ConfigurationError.self) { try load(events) }
            return error.description.replacing("\(folder.path)/", with: "").split(separator: "\n").map(String.init)
        }
        #expect(try load("[shown, hidden]") == ["shown", "hidden"])
        #expect(try load("[]") == [])
        let variable = ["INDICATOR_LOG_FILE_EVENTS": "shown,label"]
        #expect(try load("[shown, hidden]", environment: variable) == ["shown", "label"])
        #expect(
            try report("[shown, labels, 3, shown]") == [
                "config.yaml:3:19: error: 'events': expected one of shown, hidden, label, finished, found 'labels', "
                    + "did you mean 'label'?",
                "config.yaml:3:27: error: 'events': expected one of shown, hidden, label, finished, found '3'",
                "config.yaml:3:30: error: 'events': 'shown' is duplicated",
            ]
        )
        #expect(try load("shown, label") == ["shown", "label"])
    }

    @Test func `The defaults are those of the backend`() throws {
        let backend = try BackendKind.logFile.with().make(context)
        #expect((backend as? LogFileBackend)?.settings == LogFileBackend.Settings())
    }

    @Test("A path that cannot be a file is rejected") func aPathThatCannotBeAFileIsRejected() {
        let kind = BackendKind.logFile
        let error = #expect(throws: ConfigurationError.self) { try kind.with(["path": "/var/log/"]) }
        #expect(error?.mistakes.map(\.message) == ["expected the path of a file, found '/var/log/'"])
        #expect(throws: Never.self) { try kind.with(["path": "/var/log/x"]) }
    }

    @Test func `The availability check creates nothing`() async throws {
        let path = folder.appending("a/b/x.log")
        #expect(await availability(path) == .success(path))
        #expect(try folder.names() == [])
        // What an earlier version left behind.
        let other = folder.appending("y.log")
        try folder.write("", to: "y.log.check")
        #expect(await availability(other) == .success(other))
        let file = try folder.write("", to: "file")
        #expect(await availability(file) == .success(file))
        #expect(await availability("/dev/null") == .success("/dev/null"))
        // Root may write in every folder.
        chmod(folder.path, 0o500)
        defer { chmod(folder.path, 0o700) }
        let remark = geteuid() == 0 ? "" : ", which grows: its folder cannot be written"
        #expect(await availability(file) == .success(file + remark))
    }

    @Test func `Obstacles are reported`() async throws {
        #expect(
            await availability(folder.path)
                == .failure(
                    Unavailability(
                        reason: "log file '\(folder.path)': it is a directory",
                        help: "set 'path' to a file in it, such as '\(folder.path)/indicator.log'"
                    )
                )
        )
        let below = try folder.write("", to: "file") + "/a/x.log"
        #expect(await reason(below)?.contains("Not a directory") == true)

        let link = folder.appending("link")
        symlink("nowhere", link)
        #expect(await reason(link)?.contains("symbolic link") == true)
    }
}
