import TestSupport

@Suite("SIGHUP", .timeLimit(.minutes(10)))
struct HangupSignalTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @discardableResult
    private func file(startDelay: Int = 1) throws -> String {
        try folder.save("startDelay: \(startDelay)\nbackends: [memory]\n")
    }

    /// Starts the app with that file; returns when it is ready.
    private func app(_ modes: String...) async throws -> HelperProcess {
        let helper = try HelperProcess([try file()] + modes)
        #expect(await helper.says("ready"))
        return helper
    }

    @Test func `reloads the configuration, and no activity is lost`() async throws {
        let helper = try await app()
        for delay in 2...5 {
            try file(startDelay: delay)
            #expect(await helper.says("delay \(delay).0 seconds", at: SIGHUP))
            #expect(await helper.says("count 1"))
        }
        #expect(helper.daemon.isRunning)
    }

    @Test func `is logged once, even when nothing has changed or the file is missing`() async throws {
        let (helper, path) = (try await app(), folder.appending("indicator.yaml"))
        func report() async -> String? {
            let line = await helper.says(at: SIGHUP) { $0.contains("SIGHUP: ") }
            return line.flatMap { $0.components(separatedBy: "SIGHUP: ").last }
        }
        let reloaded = "The configuration was reloaded from \(path)"
        let notReloaded = "The configuration was not reloaded; the previous one remains in effect:"
        #expect(await report() == reloaded)
        try folder.save("startDelay: 2\nbackends: []\n")
        #expect(await report() == reloaded)
        try folder.save("startDelay: soon\n")
        #expect(await report() == notReloaded)
        #expect(await helper.says { $0.hasPrefix("\(path):1:13: error: ") } != nil)
        try FileManager.default.removeItem(atPath: path)
        #expect(await report() == notReloaded)
        #expect(await helper.says("\(path): error: the file cannot be read: No such file or directory"))
        try file(startDelay: 6)
        #expect(await report() == reloaded)
    }

    @Test func `reloads while an indicator exists, and ends the process after that`() async throws {
        let helper = try await app("two")
        #expect(await helper.says("handler", to: "disposition"))
        #expect(await helper.says("done shutdown", to: "shutdown"))
        #expect(await helper.says(at: SIGHUP) { $0.contains("SIGHUP: ") } != nil)
        #expect(await helper.says("done shutdown second", to: "shutdown second"))
        helper.daemon.send(SIGHUP)
        #expect(await eventually { helper.daemon.status == 128 + Int(SIGHUP) })
    }

    @Test(arguments: ["ignore", "own"])
    func `stays ignored, as under nohup, or handled by the app`(mode: String) async throws {
        let helper = try await app(mode)
        for command in ["", "shutdown"] {
            helper.daemon.write(command)
            #expect(await helper.says(mode == "ignore" ? "ignore" : "handler", to: "disposition"))
            helper.daemon.send(SIGHUP)
        }
        #expect(helper.daemon.isRunning)
    }

    @Test("and changes of the file cost nothing while there are none")
    func idle() async throws {
        let helper = try await app()
        // Both threads wait, without a time limit.
        let ours = ["config-reload", "signals"]
        await expectEventually {
            let (waking, names) = wakingThreads(of: helper.daemon.processID)
            return ours.allSatisfy(names.contains) && !waking.contains { ours.contains(where: $0.hasPrefix) }
        }
    }
}
