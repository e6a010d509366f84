import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

@Suite struct LogFileKindTests {
    private let context = BackendContext(name: "audit", applicationName: "my-app", logger: Logger(label: "test"))

    @Test func `Settings reach the backend`() throws {
        let values: [String: SettingValue] = [
            "path": "/x", "format": "text", "maxSize": 5, "keep": 7, "events": ["shown", "hidden"],
        ]
        let log = try #require(try BackendKind.logFile.with(values).make(context) as? LogFileBackend)
        #expect(log.name == "audit")
        #expect(log.settings == .init(path: "/x", format: .text, maxSize: 5, keep: 7, events: [.shown, .hidden]))
    }

    @Test func `The availability check creates nothing`() async throws {
        let folder = try TemporaryDirectory()
        func availability(_ path: String) async throws -> Result<String?, Unavailability> {
            try await BackendKind.logFile.with(["path": .string(path)]).availability(context)
        }
        for path in [folder.appending("a/b/x.log"), "/dev/null"] {
            #expect(try await availability(path) == .success(path))
        }
        #expect(try folder.names() == [])
        let file = try folder.write("", to: "file")
        #expect(try await availability(file) == .success(file))
        // Root may write in every folder.
        chmod(folder.path, 0o500)
        defer { chmod(folder.path, 0o700) }
        let remark = geteuid() == 0 ? "" : ", which grows: its folder cannot be written"
        #expect(try await availability(file) == .success(file + remark))
    }
}
