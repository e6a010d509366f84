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
        let values: [String: SettingValue] = [
            "path": "/x", "format": "text", "maxSize": 5, "keep": 7, "events": ["shown", "hidden"],
        ]
        let log = try #require(try BackendKind.logFile.with(values).make(context) as? LogFileBackend)
        #expect(log.name == "audit")
        let expected = LogFileBackend.Settings(
            path: "/x",
            format: .text,
            maxSize: 5,
            keep: 7,
            events: [.shown, .hidden]
        )
        #expect(log.settings == expected)
    }

    @Test func `The defaults are those of the backend`() throws {
        let backend = try BackendKind.logFile.with().make(context)
        #expect((backend as? LogFileBackend)?.settings == LogFileBackend.Settings())
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
