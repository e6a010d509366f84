import TestSupport

@testable import IndicatorBackends

/// The status of a service, as what its service manager receives.
@Suite struct SystemdStatusTests {
    private let folder: TemporaryDirectory
    private let manager: ServiceManager
    private var address: String { folder.appending("notify") }

    init() throws {
        folder = try TemporaryDirectory()
        manager = try ServiceManager(address: folder.appending("notify"))
    }

    private func backend(
        _ address: String,
        settings: SystemdStatusSettings = SystemdStatusSettings()
    ) -> BackendDriver<SystemdStatusBackend> {
        let environment = ["NOTIFY_SOCKET": address]
        return BackendDriver(SystemdStatusBackend(applicationName: "app", settings: settings, environment: environment))
    }

    @Test("The text follows the indicator, on sockets with a path and abstract ones", arguments: [false, true])
    func texts(isAbstract: Bool) async throws {
        let address = isAbstract ? "@" + address : address
        let manager = isAbstract ? try ServiceManager(address: address) : manager
        let backend = try await backend(address).started()
        #expect(manager.receiveAll() == [])
        try await backend.update(.shown("Fetching\u{1B}[31m\nREADY=1", count: 3, progress: 0.42))
        try await backend.update(.shown("Fetching\u{1B}[31m\nREADY=1", count: 3, progress: 0.42))
        try await backend.update(.shown())
        try await backend.update(IndicatorSnapshot())
        try await backend.update(IndicatorSnapshot())
        #expect(manager.receiveAll() == ["STATUS=Fetching[31m READY=1 42% (3)", "STATUS=in progress", "STATUS="])
        try await backend.update(.shown("Again"))
        await backend.stop()
        #expect(manager.receiveAll() == ["STATUS=Again", "STATUS="])
    }

    @Test func `A text that a busy service manager did not take is removed after the next start`() async throws {
        let backend = try await backend(address).started()
        try await backend.update(.shown("Working"))
        manager.fill()
        await #expect(throws: (any Error).self) { try await backend.update(IndicatorSnapshot()) }
        await backend.stop()
        #expect(manager.receiveAll().contains("STATUS=Working"))
        try await backend.start()
        #expect(manager.receiveAll() == ["STATUS="])
        await backend.stop()
    }

    @Test func `It reports that the service is ready only if that is configured`() async throws {
        _ = try await backend(address, settings: .init(isReady: true)).started()
        #expect(manager.receiveAll() == ["READY=1"])
    }

    @Test(arguments: [
        ("", "NOTIFY_SOCKET is not set"), ("vsock:2:1234", "neither a path nor '@' and a name"),
        ("@", "neither a path nor '@' and a name"), ("relative", "neither a path nor '@' and a name"),
        ("/" + String(repeating: "a", count: 107), "File name too long"),
        ("/nowhere/notify", "the socket '/nowhere/notify' in NOTIFY_SOCKET cannot be used: No such file"),
    ])
    func `Without a usable address it is unavailable, and says why`(address: String, text: String) async throws {
        let error = await #expect(throws: Unavailability.self) { try await backend(address).start() }
        #expect(error?.description.contains(text) == true, "\(String(describing: error))")
    }

    @Test func `A default configuration skips it where there is no service, and uses it in one`() async throws {
        for (variable, isUsed) in [("", false), (address, true)] {
            let probe = try await DesktopProbe(
                configuration: "backends: [systemdStatus]",
                environment: ["NOTIFY_SOCKET": variable],
                bus: nil
            )
            #expect(try await probe.tell("status").isEmpty == !isUsed)
            try await probe.tell("begin", "Fetching")
            if isUsed { #expect(await eventually { manager.receive() == "STATUS=Fetching" }) }
        }
    }
}
