import TestSupport

/// A real service group in a separate process. The log shows what happened to its indicator.
@Suite("The indicator as a service", .timeLimit(.minutes(10)))
struct IndicatorServiceTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func start(_ mode: String) async throws -> Daemon {
        let configuration = """
            startDelay: 0
            backends: [logFile]
            logFile: {path: \(folder.appending("log")), format: text}

            """
        let path = try folder.write(configuration, to: "config.yaml")
        let daemon = try Daemon(try Command.built("test-probe"), ["app", path, mode])
        try #require(await eventually { daemon.output.contains("shown\n") && log.contains(" shown ") })
        return daemon
    }

    private var log: String { (try? folder.read("log")) ?? "" }

    @Test("is shut down by SIGTERM, after the service whose work it shows, and the process ends normally")
    func termination() async throws {
        let daemon = try await start("service")
        daemon.send(SIGTERM)
        #expect(await eventually { daemon.status == 0 })
        #expect(daemon.output == "shown\nfinishing\nended\nbackends [\"stopped\"]\n")
        let events = log.split(separator: "\n").map { $0.split(separator: " ")[2] }
        #expect(events == ["shown", "finished", "hidden"])
        #expect(log.contains("outcome=succeeded"))
    }

    @Test func `is shut down when another service fails, which cancels it`() async throws {
        let daemon = try await start("failing")
        daemon.write("fail")
        #expect(await eventually { daemon.status == 0 })
        #expect(daemon.output.hasPrefix("shown\nfailed: Failure()\n"))
        #expect(daemon.output.hasSuffix("backends [\"stopped\"]\n"))
        #expect(log.split(separator: "\n").last?.contains(" hidden ") == true)
    }
}
