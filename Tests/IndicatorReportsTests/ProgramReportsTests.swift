import Foundation
import IndicatorCore
import IndicatorTesting
import TestSupport
import Testing

@testable import IndicatorReports

@Suite("Reports of programs")
struct ProgramReportsTests {
    /// What an indicator shows after a script of reports, and how the programs' own work has ended meanwhile.
    private static func shown(_ script: String) throws -> (snapshot: IndicatorSnapshot, ended: [String]) {
        let indicator = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero, completionDelay: .zero))
        var work = ReportedWork(ManagedActivity("make", in: indicator))
        let ended = ProgramReport.all(in: Array(script.utf8)).compactMap { work.apply($0) }
        return (indicator.snapshot, ended.map { "\($0.label): \($0.outcome)" })
    }

    private static func rows(_ snapshot: IndicatorSnapshot) -> [String] {
        snapshot.activities.map { details in
            let parts = [
                details.label ?? "-", details.progress.map { "\(Int(($0 * 100).rounded()))%" },
                details.detail.map { "(\($0))" },
                details.attention.map { "\($0)?" },
            ]
            return String(repeating: "  ", count: details.depth) + parts.compactMap { $0 }.joined(separator: " ")
        }
    }

    @Test(
        "What is shown after a script of reports",
        arguments: [
            (["state=working:title=Q29weQ:progress=40:msg=YQ"], ["Copy 40% (a)"]),
            // Each report replaces its record.
            (["state=working:title=Q29weQ:progress=40", "state=working"], ["make"]),
            (["state=blocked:kind=auth:progress=40"], ["make 40% asks for a login?"]),
            (["state=blocked:msg=YQ", "state=working"], ["make"]),
            (["STATUS=Link\nX_INDICATOR_PROGRESS=12"], ["Link 12%"]),
            (["STATUS=Link", "STATUS="], ["make"]),
            (["state=working:progress=10", "STATUS=Link", "state=working:progress=10"], ["make 10%"]),
            // It ends, and the next report of work begins another.
            (["state=done"], []),
            (["state=done", "state=idle", "state=error", "state=clear"], []),
            (["state=error", "state=working:title=Q29weQ"], ["Copy"]),
            // Members.
            (
                ["state=working:id=a:progress=50", "state=working:id=b/c:title=Q29weQ"],
                ["make 25%", "  a 50%", "  Copy"]
            ),
            (["state=working:id=a", "state=done:id=a"], ["make 100%"]),
            (
                ["state=working:id=a", "state=working:id=a/b", "state=working:id=ab", "state=clear:id=a"],
                ["make 67%", "  ab"]
            ),
            (["state=working:id=a", "state=clear"], ["make 100%"]),
            (["state=idle", "state=working:id=a"], ["a"]),
        ]
    )
    func script(reports: [String], expected: [String]) throws {
        #expect(try Self.rows(Self.shown(reports.joined(separator: "\n")).snapshot) == expected)
    }

    @Test("The programs' own work ends once, with what they say")
    func outcomes() throws {
        let script = ["state=working:title=Q29weQ", "state=done", "state=done", "state=working", "state=error:msg=YQ"]
        #expect(try Self.shown(script.joined(separator: "\n")).ended == ["Copy: succeeded", "make: failed(\"a\")"])
    }

    /// Listens in a folder of its own, on an indicator without delays.
    private static func listening(
        _ body: (_ indicator: IndicatorManager, _ reports: ProgramReports, _ folder: String) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let indicator = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero, completionDelay: .zero))
        let socket = try ReportSocket(in: directory.path)
        let reports = ProgramReports(on: ManagedActivity("make", in: indicator), socket: socket)
        try await body(indicator, reports, "\(directory.path)/indicator")
        reports.end()
        #expect(indicator.snapshot.activityCount == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/indicator") == [])
    }

    @Test("What a program sends is shown; what it has sent last counts, too; everything ends with the programs")
    func reports() async throws {
        try await Self.listening { indicator, reports, _ in
            let path = try #require(reports.environment["INDICATOR_SOCKET"])
            #expect(ReportSocket.send("state=working:id=a\nSTATUS=Link", to: path))
            #expect(await eventually { Self.rows(indicator.snapshot) == ["Link 0%", "  a"] })
            #expect(ReportSocket.send("state=error:msg=YQ", to: path))
            #expect(reports.finish(.succeeded) == nil, "a report has ended it")
            #expect(!ReportSocket.send("state=working", to: path))
        }
    }

    @Test("Of a flood of members, 64 are shown, the others are counted, and those that have ended are forgotten")
    func flood() async throws {
        try await Self.listening { indicator, reports, _ in
            let path = try #require(reports.environment["INDICATOR_SOCKET"])
            for number in 0..<200 {
                #expect(await eventually { ReportSocket.send("state=working:id=m\(number)", to: path) })
            }
            #expect(await eventually { reports.omittedCount == 200 - 64 })
            for number in 0..<2000 {
                #expect(
                    await eventually {
                        ReportSocket.send("state=done:id=m\(number % 64)\nstate=error:id=e\(number)", to: path)
                    }
                )
            }
            #expect(await eventually { indicator.snapshot.activities.count == 1 })
        }
    }

    @Test("A socket that a killed process has left is removed; one that is in use is not, nor is another file")
    func leftovers() async throws {
        try await Self.listening { _, reports, folder in
            let names = ["dead.reports", "file.reports", "other"]
            let dead = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            #expect(ReportSocket.withAddress("\(folder)/dead.reports") { bind(dead, $0, $1) } == 0)
            close(dead)
            for name in names.dropFirst() {
                _ = FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: nil)
            }
            let second = try ReportSocket(in: (folder as NSString).deletingLastPathComponent)
            let left = Set(try FileManager.default.contentsOfDirectory(atPath: folder))
            #expect(!left.contains("dead.reports"))
            #expect(left.isSuperset(of: ["file.reports", "other", (second.path as NSString).lastPathComponent]))
            #expect(FileManager.default.fileExists(atPath: try #require(reports.environment["INDICATOR_SOCKET"])))
            second.unlink()
            for name in left where names.contains(name) {
                try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
        }
    }

    @Test(
        "Descriptors that come along are closed, and a datagram that is too long is ignored",
        .needs("python3", package: "python3")
    )
    func descriptors() async throws {
        let directory = try TemporaryDirectory()
        let socket = try ReportSocket(in: directory.path)
        let program = """
            import array, os, socket, sys
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            r, w = os.pipe()
            s.sendmsg([b"BARRIER=1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [w]))], 0, sys.argv[1])
            os.close(w)
            s.sendto(b"x" * 5000, sys.argv[1])
            print(os.read(r, 1))
            """
        async let result = Command.run("python3", ["-c", program, socket.path])
        #expect(await eventually { socket.receive().map { String(decoding: $0, as: UTF8.self) } == "BARRIER=1" })
        #expect(try await result.output == "b''\n", "the last writer is closed")
        #expect(socket.receive() == [])
        socket.unlink()
    }

    @Test("Where no socket can be made, the error names the path") func failure() throws {
        let directory = try TemporaryDirectory(String(repeating: "x", count: 100))
        let error = #expect(throws: ReportSocket.Failure.self) { try ReportSocket(in: directory.path) }
        #expect(error?.description.contains("\(directory.path)/indicator/") == true)
    }

    @Test("Without a runtime folder of the user's own, the socket is in a folder in /tmp that only the user has")
    func otherFolder() throws {
        let shared = try TemporaryDirectory()
        chmod(shared.path, 0o777)
        // A killed process has left this one.
        let left = "/tmp/indicator-\(UUID())"
        mkdir(left, 0o700)
        let dead = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        #expect(ReportSocket.withAddress("\(left)/socket.reports") { bind(dead, $0, $1) } == 0)
        close(dead)
        for runtime in [nil, "/dev/null", "relative", "\(shared.path)/missing"] {
            let socket = try ReportSocket(in: runtime)
            #expect(socket.path.hasPrefix("/tmp/indicator-") && !FileManager.default.fileExists(atPath: left))
            let folder = (socket.path as NSString).deletingLastPathComponent
            #expect(try FileManager.default.attributesOfItem(atPath: folder)[.posixPermissions] as? Int == 0o700)
            socket.unlink()
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
        // Another user's folder, or one that others may write, is not used.
        mkdir("\(shared.path)/indicator", 0o700)
        chmod("\(shared.path)/indicator", 0o777)
        let socket = try ReportSocket(in: shared.path)
        #expect(socket.path.hasPrefix("/tmp/indicator-"))
        socket.unlink()
    }
}
