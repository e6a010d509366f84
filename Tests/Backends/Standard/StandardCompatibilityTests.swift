import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

/// The backends of this module, with real files, sockets and programs.
@Suite struct StandardCompatibilityTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// What is in the way is moved away, and something else put in its place.
    private func surface(
        of name: String,
        hang: (@Sendable () async throws -> Void)? = nil,
        goOn: @escaping @Sendable () async throws -> Void = {}
    ) -> BackendCompatibility.Surface {
        let (path, away) = (folder.appending(name), folder.appending(name) + ".away")
        return BackendCompatibility.Surface(
            take: {
                try FileManager.default.moveItem(atPath: path, toPath: away)
                try Data("not this".utf8).write(to: URL(filePath: path))
            },
            giveBack: {
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.moveItem(atPath: away, toPath: path)
            },
            hang: hang,
            goOn: goOn
        )
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `A log file does what every backend must`(_ expectation: BackendCompatibility.Case) async throws {
        try FileManager.default.createDirectory(atPath: folder.appending("logs"), withIntermediateDirectories: true)
        // A file never hangs, but a terminal that the user has stopped (Ctrl-S) does.
        let terminal = try PseudoTerminal()
        let hangs = expectation == .stalls
        let settings = LogFileBackend.Settings(path: hangs ? terminal.path : folder.appending("logs/x.log"))
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let suite = BackendCompatibility(
            make: { LogFileBackend(applicationName: "app", settings: settings, logger: quiet) },
            surface: hangs
                ? BackendCompatibility.Surface(hang: terminal.stopOutput, goOn: terminal.startOutput)
                : surface(of: "logs")
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The status of a service does what every backend must`(_ expectation: BackendCompatibility.Case) async throws {
        let address = folder.appending("notify")
        let manager = Locked<ServiceManager?>(try ServiceManager(address: address))
        let shown = Locked("STATUS=")
        let suite = BackendCompatibility(
            make: { SystemdStatusBackend(applicationName: "app", environment: ["NOTIFY_SOCKET": address]) },
            surface: BackendCompatibility.Surface(
                take: {
                    _ = manager.withLock { $0.take() }
                    try FileManager.default.removeItem(atPath: address)
                },
                giveBack: {
                    let new = try ServiceManager(address: address)
                    manager.withLock { $0 = new }
                },
                // Its queue is full.
                hang: { manager.withLock { $0?.fill() } },
                goOn: { _ = manager.withLock { $0?.receiveAll() } },
                shown: {
                    let texts = manager.withLock { $0?.receiveAll() } ?? []
                    return shown.withLock { shown in
                        shown = texts.last ?? shown
                        return shown
                    }
                }
            )
        )
        try await suite.check(expectation)
    }

    @Test(.needs("curl", package: "curl"), arguments: ["command", "webhook"], BackendCompatibility.Case.allCases)
    func `A hook does what every backend must`(_ name: String, _ expectation: BackendCompatibility.Case) async throws {
        let hangs = folder.appending("hangs")
        let program = try folder.write("#!/bin/sh\nwhile [ -e '\(hangs)' ]; do sleep 0.1; done\n", to: "command")
        chmod(program, 0o755)
        let address = try LoopbackAddress()
        let service = try await Daemon.python(
            """
            while True:
                c, _ = s.accept()
                c.recv(65536)
                c.sendall(b'HTTP/1.0 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n')
                c.close()
            """,
            at: address
        )
        let url = try folder.write("http://\(address.host):\(address.port)\n", to: "webhook")
        let kind = try #require(BackendRegistry.standard.kind(named: name))
        let context = BackendContext(name: name, applicationName: "app", logger: Logger(label: "test"))
        let isCommand = name == "command"
        let own: [String: SettingValue] = isCommand ? ["run": .list([program])] : ["urlFile": .string(url)]
        let events: SettingValue = .list(["shown", "hidden", "finished"])
        let configured = try kind.with(own.merging(["events": events, "after": 0]) { $1 })
        let hang: @Sendable () throws -> Void = {
            if isCommand { try Data().write(to: URL(filePath: hangs)) } else { service.send(SIGSTOP) }
        }
        let suite = BackendCompatibility(
            make: { try configured.make(context) },
            // One that fails later is in the log: the backend goes on.
            surface: expectation == .recovers
                ? BackendCompatibility.Surface()
                : surface(of: name, hang: hang) { if isCommand { unlink(hangs) } else { service.send(SIGCONT) } }
        )
        try await suite.check(expectation)
    }
}
