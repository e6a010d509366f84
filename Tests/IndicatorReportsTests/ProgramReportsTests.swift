import TestSupport

@testable import IndicatorReports

@Suite("Reports of programs")
struct ProgramReportsTests {
    /// What an indicator shows after a script of reports, and what has ended meanwhile.
    private static func shown(_ script: [String]) async -> (rows: [String], ended: [String]) {
        let indicator = IndicatorManager(delays: .zero)
        let updates = indicator.updates
        var work = ReportedWork(ManagedActivity("make", in: indicator))
        work.apply(Array(script.joined(separator: "\n").utf8))
        let rows = rows(indicator.snapshot)
        await indicator.shutdown()
        return (rows, await ended(updates))
    }

    /// What has ended according to the updates of an indicator that is shut down.
    static func ended(_ updates: some AsyncSequence<IndicatorUpdate, Never>) async -> [String] {
        var ended: [String] = []
        for await update in updates { ended += update.finished.map { "\($0.label): \($0.outcome)" } }
        return ended
    }

    private static func rows(_ snapshot: IndicatorSnapshot) -> [String] {
        snapshot.activities.map { details in
            let progress = details.progress.map { "\(Int(($0 * 100).rounded()))%" }
            let (detail, question) = (details.detail.map { "(\($0))" }, details.attention.map { "\($0)?" })
            let parts = [details.label ?? "-", progress, detail, question]
            return String(repeating: "  ", count: details.depth) + parts.compactMap { $0 }.joined(separator: " ")
        }
    }

    @Test(arguments: [
        (["state=working:title=Q29weQ:progress=40:msg=YQ"], ["Copy 40% (a)"]),
        // Each report replaces its record.
        (["state=working:title=Q29weQ:progress=40", "state=working"], ["make"]),
        (["state=blocked:kind=auth:progress=40"], ["make 40% asks for a login?"]),
        (["state=blocked:msg=YQ", "state=working"], ["make"]),
        (["", "STATUS=Link", "", "X_INDICATOR_PROGRESS=12", ""], ["Link 12%"]),
        (["X_INDICATOR_PROGRESS=12", "X_INDICATOR_PROGRESS="], ["make"]),
        (["nan", "-5", "101", "x"].map { "X_INDICATOR_PROGRESS=\($0)" }, ["make"]),
        // The escape sequence, and lines of others.
        (["\u{1B}]7501;app=a:state=working:title=Q29weQ\u{1B}\\", "READY=1", "\u{1B}]0;a"], ["Copy"]),
        (["\u{1B}]7501;state=error\u{07}", "progress=4", "app=a:state=working"], []),
        (["STATUS=Link", "STATUS="], ["make"]),
        // A label of which nothing can be seen would lose the outcome.
        (["STATUS= "], ["make"]), (["STATUS=\u{1B}"], ["make"]), (["state=working:title=IA"], ["make"]),
        (["state=working:progress=10", "STATUS=Link", "state=working:progress=10"], ["make 10%"]),
        // It ends, and the next report of work begins another.
        (["state=done"], []),
        (["state=done", "state=idle", "state=error", "state=clear"], []),
        (["state=error", "state=working:title=Q29weQ"], ["Copy"]),
        // Members.
        (["state=working:id=a:progress=50", "state=working:id=b/c:title=Q29weQ"], ["make 25%", "  a 50%", "  Copy"]),
        (["state=working:id=a", "state=done:id=a"], ["make 100%"]),
        // One that is repeated counts once.
        (["state=done:id=a", "state=done:id=a", "state=working:id=b"], ["make 50%", "  b"]),
        (["a", "a/b", "ab"].map { "state=working:id=\($0)" } + ["state=clear:id=a"], ["make 0%", "  ab"]),
        (["state=working:id=a", "state=clear"], ["make"]),
        (["state=clear", "state=working:id=a", "state=clear"], ["make"]),
        (["state=working:id=a", "state=idle:id=a", "state=error:id=b", "state=working:id=c"], ["make 50%", "  c"]),
        (["state=idle", "state=working:id=a"], ["a"]),
        (["state=done:id=a", "state=idle:id=b", "state=working:id=c"], ["make 50%", "  c"]),
    ])
    func `What is shown after a script of reports`(reports: [String], expected: [String]) async {
        #expect(await Self.shown(reports).rows == expected)
    }

    @Test(
        "What has ended does not end again; what is idle or removed has no outcome",
        arguments: [
            ("working:title=Q29weQ done done working error:msg=YQ", #"Copy: succeeded, make: failed("a")"#),
            ("working:title=Q29weQ done:msg=b2s", "make: ok: succeeded"),
            ("done:id=a done:id=a working:id=b clear:id=b clear:id=a done:id=a", "a: succeeded, a: succeeded"),
            ("idle done working idle error:id=a:msg=YQ", #"a: failed("a")"#),
        ]
    )
    func outcomes(reports: String, expected: String) async {
        let ended = await Self.shown(reports.split(separator: " ").map { "state=\($0)" }).ended
        #expect(ended.joined(separator: ", ") == expected)
    }

    @Test func `A part that is open at the end does not count as done before the whole has failed`() async throws {
        let clock = VirtualClock()
        let indicator = IndicatorManager(delays: IndicatorDelays.zero, clock: clock)
        let shown = Locked<[IndicatorUpdate]>([])
        let watcher = Task { [updates = indicator.updates] in
            for await update in updates { shown.withLock { $0 += update.steps } }
        }
        var work = ReportedWork(ManagedActivity("make", in: indicator))
        work.apply(Array("state=working:progress=50:id=a".utf8))
        for _ in 0..<2 {
            // So that the next change is published at once.
            clock.advance(by: .seconds(1))
            #expect(await eventually { shown.withLock { $0.last?.snapshot.progress } == 0.5 })
        }
        work.end(.failed("exit status 1"))
        await indicator.shutdown()
        await watcher.value
        let updates = shown.withLock { $0 }
        #expect(!updates.contains { $0.snapshot.progress == 1 })
        #expect(updates.flatMap(\.finished).map { "\($0.label) \($0.isMember)" } == ["a true", "make false"])
    }

    /// Listens in a folder of its own, on an indicator without delays.
    private static func listening(
        _ body: (_ indicator: IndicatorManager, _ reports: ProgramReports, _ folder: String) async throws -> Void
    ) async throws {
        // A shell would take the name for a pattern.
        let directory = try TemporaryDirectory("[*]")
        let indicator = IndicatorManager(delays: .zero)
        let reports = try ProgramReports(in: directory.path)
        reports.listen(on: ManagedActivity("make", in: indicator))
        try await body(indicator, reports, "\(directory.path)/indicator")
        reports.end()
        #expect(indicator.snapshot.activityCount == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/indicator") == [])
    }

    @Test("What a program sends is shown; what it has sent last counts, too; everything ends with the programs")
    func reports() async throws {
        try await Self.listening { indicator, reports, _ in
            let updates = indicator.updates
            let path = try #require(reports.environment["INDICATOR_SOCKET"])
            #expect(ProgramReports.send("state=working:id=a\nSTATUS=Link", to: path))
            #expect(await eventually { Self.rows(indicator.snapshot) == ["Link 0%", "  a"] })
            // Whether the thread reads it, or the end.
            #expect(ProgramReports.send("state=error:msg=YQ", to: path))
            reports.end(.succeeded)
            #expect(!ProgramReports.send("state=working", to: path))
            await indicator.shutdown()
            #expect(await Self.ended(updates) == ["Link: failed(\"a\")", "a: unspecified"])
        }
    }

    @Test("Of a flood of members, 64 are shown, the others are counted, and those that have ended are forgotten")
    func flood() async throws {
        try await Self.listening { indicator, reports, _ in
            for number in 0..<200 {
                #expect(await eventually { ProgramReports.send("state=working:id=m\(number)", to: reports.path) })
            }
            #expect(await eventually { reports.omittedCount == 200 - 64 })
            for number in 0..<2000 {
                let ends = "state=done:id=m\(number % 64)\nstate=error:id=e\(number)"
                #expect(await eventually { ProgramReports.send(ends, to: reports.path) })
            }
            #expect(await eventually { indicator.snapshot.activities.count == 1 })
            #expect(reports.omittedCount == 200 - 64)
        }
    }

    /// Makes a socket like that of a process that was killed.
    private static func leave(in folder: String) {
        mkdir(folder, 0o700)
        let dead = UnixSocket.make(SOCK_DGRAM)
        #expect(UnixSocket.withAddress("\(folder)/indicator-reports") { bind(dead, $0, $1) } == 0)
        close(dead)
    }

    @Test("A socket that a killed process has left is removed; one that is in use is not, nor is another folder")
    func leftovers() async throws {
        try await Self.listening { _, reports, folder in
            Self.leave(in: "\(folder)/indicator-dead")
            mkdir("\(folder)/indicator-other", 0o700)
            let second = try ProgramReports(in: (folder as NSString).deletingLastPathComponent)
            second.removeLeftovers()
            let used = [second.path, reports.path].map { String($0.split(separator: "/").dropLast().last ?? "") }
            let left = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(Set(left) == Set(used + ["indicator-other"]))
            second.end()
            rmdir("\(folder)/indicator-other")
        }
    }

    @Test(.needs("python3", package: "python3"))
    func `Descriptors that come along are closed, and a datagram that is too long is ignored`() async throws {
        try await Self.listening { indicator, reports, _ in
            let program = """
                import array, os, socket, sys
                s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                r, w = os.pipe()
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [w]))
                s.sendmsg([b"STATUS=Link"], [rights], 0, sys.argv[1])
                os.close(w)
                s.sendto(b"STATUS=" + b"x" * 4090, sys.argv[1])
                s.sendto(b"X_INDICATOR_PROGRESS=40" + b"\\n" * 4073, sys.argv[1])
                print(os.read(r, 1))
                """
            let result = try await Command.run("python3", ["-c", program, reports.path])
            #expect(result.output == "b''\n", "the last writer is closed")
            #expect(await eventually { Self.rows(indicator.snapshot) == ["Link 40%"] })
        }
    }

    @Test func `Where no socket can be made, the error says where and why, and nothing is left`() async throws {
        let folder = try TemporaryDirectory(String(repeating: "x", count: 100))
        let reasons = ["\(folder.path)/none": "No such file or directory", folder.path: "File name too long"]
        for (other, reason) in reasons {
            let error = #expect(throws: ProgramReports.Failure.self) { try ProgramReports(in: nil, or: other) }
            #expect(error?.description == "cannot make a socket for reports in '\(other)': \(reason)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        await #expect(processExitsWith: .success) {
            var limit = rlimit(rlim_cur: 0, rlim_max: 0)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let error = #expect(throws: ProgramReports.Failure.self) { try ProgramReports(in: nil) }
            if error?.description != "cannot make a socket for reports in '/tmp': Too many open files" { exit(1) }
        }
    }

    @Test("Without a usable runtime folder of the user's own, the socket is in another folder that only the user has")
    func otherFolder() throws {
        let (shared, foreign, other) = (try TemporaryDirectory(), try TemporaryDirectory(), try TemporaryDirectory())
        let long = try TemporaryDirectory(String(repeating: "x", count: 100))
        let file = try TemporaryDirectory()
        chmod(shared.path, 0o777)
        // Another user's; for one who cannot give it away, the system's.
        let isRoot = chown(foreign.path, 65534, 65534) == 0
        try file.write("", to: "indicator")
        let left = "\(other.path)/indicator-killed"
        Self.leave(in: left)
        let folders = [
            nil, "/dev/null", "relative", "\(shared.path)/missing", shared.path, isRoot ? foreign.path : "/usr",
            long.path, file.path,
        ]
        for runtime in folders {
            let reports = try ProgramReports(in: runtime, or: other.path)
            reports.removeLeftovers()
            #expect(reports.path.hasPrefix("\(other.path)/indicator-") && !FileManager.default.fileExists(atPath: left))
            let folder = (reports.path as NSString).deletingLastPathComponent
            #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
            #expect(ProgramReports.send("state=done", to: reports.path))
            reports.end()
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
        for folder in [shared, foreign, other] {
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        }
    }
}
