import TestSupport

@testable import IndicatorReports

/// The programs of the article "Reporting from any language", as they are written there.
@Suite("The article on reporting") struct ReportingArticleTests {
    /// The tools of sd_notify(3), a client of sockets, and tqdm.
    private static let needs: Needs = [
        "systemd-notify": "systemd", "socat": "socat", "gcc": "gcc", "make": "make", "/usr/bin/python3": "python3",
        "/usr/lib/python3/dist-packages/tqdm": "python3-tqdm",
        "/usr/lib/python3/dist-packages/sdnotify*": "python3-sdnotify",
    ]

    private let article: Article

    init() throws { article = try Article("IndicatorReports/IndicatorReports.docc/ReportingFromAnyLanguage.md") }

    /// Runs a shell script in a folder, with a socket for reports and this package's `indicator`, and returns the
    /// programs' own work and the members that have ended, with their outcomes.
    private func reported(_ script: String, files: [String: String] = [:]) async throws -> [String] {
        let folder = try TemporaryDirectory()
        for (name, text) in files { try folder.write(text, to: name) }
        let indicator = IndicatorManager(delays: .zero)
        let updates = indicator.updates
        let reports = try ProgramReports(in: folder.path)
        reports.listen(on: ManagedActivity("command", in: indicator))
        let path = try (Command.built("indicator") as NSString).deletingLastPathComponent
        let environment = ["INDICATOR_SOCKET=\(reports.path)", "PATH=\(path):/usr/bin:/bin", "HOME=\(folder.path)"]
        let result = try await Command.run("env", environment + ["sh", "-ec", "cd '\(folder.path)'\n\(script)"])
        #expect(result.status == 0, "\(result.error)")
        reports.end(.cancelled)
        await indicator.shutdown()
        return await ProgramReportsTests.ended(updates).sorted()
    }

    private static let make = "gcc -g -Wall -Wextra -Werror -pedantic -o copy copy.c && "
    private static let main = #"int main(void) { report("state=done:title=Q29weQ"); return 0; }"#
    /// Eight processes, of which one is killed. The end of the pool would kill those that have not begun, too.
    private static let pool = """
        import signal, time
        from multiprocessing import Pool

        def work(part):
            for step in Reported(range(4), desc=f"part {part}", file=open(os.devnull, "w")):
                if part == 7 and step == 2:
                    open("killed", "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)

        with reported("read"):
            pass
        with contextlib.suppress(ValueError), reported("written"):
            raise ValueError
        with Pool(8) as pool:
            results = pool.imap_unordered(work, range(8))
            for _ in range(7):
                next(results)
            while not os.path.exists("killed"):
                time.sleep(0.01)
        """

    @Test(
        "A program of the article, with what is added to it and a script, reports what ends",
        .needs(needs),
        arguments: [
            (
                "bash", "photos", "", "mkdir backup; touch a b; SHOWN=./photos bash ./photos a b; ls backup",
                "command: 2 photos: succeeded"
            ),
            ("bash", "photos", "", "touch a; ! SHOWN=./photos bash ./photos a", #"Copying a: failed("cannot copy a")"#),
            ("bash", "photos", "", "mkdir backup; PATH=/bin bash ./photos", "command: cancelled"),
            ("make", "Makefile", "", "make -s", "command: succeeded, one: succeeded, two: succeeded"),
            (
                "python", "bars.py", pool, "/usr/bin/python3 bars.py",
                "command: cancelled, " + (0...6).map { "part \($0): succeeded, " }.joined()
                    + #"part 7: unspecified, read: succeeded, written: failed("it has reported an error")"#
            ),
            ("python", "bars.py", pool, "unset INDICATOR_SOCKET; /usr/bin/python3 bars.py", "command: cancelled"),
            (
                "c", "copy.c", main,
                make + "$(command -v valgrind >valgrind && echo valgrind -q --track-fds=all --error-exitcode=9) ./copy"
                    + " 2>errors; ! grep -q 'Open AF_UNIX socket' errors",
                "Copy: succeeded"
            ),
            (
                // Nothing listens.
                "c", "copy.c", main,
                make + "INDICATOR_SOCKET=/nonexistent ./copy; INDICATOR_SOCKET= ./copy; unset INDICATOR_SOCKET; ./copy",
                "command: cancelled"
            ),
        ]
    )
    func program(language: String, file: String, more: String, script: String, ended: String) async throws {
        // Nothing is left out, however long a busy machine takes to read it.
        let block = try article.block(with: "```\(language)\n").replacing("settimeout(1)", with: "settimeout(60)")
        let found = try await reported(script, files: [file: block + more])
        #expect(found.joined(separator: ", ") == ended)
    }

    @Test("Libraries of sd_notify, and a datagram by hand", .needs(needs))
    func notify() async throws {
        let script = """
            export NOTIFY_SOCKET="$INDICATOR_SOCKET"
            systemd-notify --no-block --status=Link
            /usr/bin/python3 -c 'import sdnotify; sdnotify.SystemdNotifier().notify("STATUS=Linked")'
            printf 'state=error:msg=YQ\\n' | socat -u - UNIX-SENDTO:"$INDICATOR_SOCKET"
            """
        #expect(try await reported(script) == ["Linked: failed(\"a\")"])
    }

    @Test func `The hooks of coding agents report their turns`() async throws {
        let hooks = try #require(
            JSONSerialization.jsonObject(with: Data(try article.block(with: "```json\n").utf8))
                as? [String: [String: [[String: Any]]]]
        )
        func command(_ event: String) throws -> String {
            let entries = try #require(hooks["hooks"]?[event]?.first?["hooks"] as? [[String: String]])
            return "echo '{\"message\": \"ignored\"}' | \(try #require(entries.first?["command"]))"
        }
        let script = try ["UserPromptSubmit", "Notification", "UserPromptSubmit", "Stop", "Notification"].map(command)
        #expect(try await reported(script.joined(separator: "\n")) == ["command: cancelled", "command: succeeded"])
        let words = try article.block(with: "```toml\n").matches(of: /"([a-z]+)"/).map { String($0.1) }
        let codex =
            words.joined(separator: " ") + #" '{"type":"agent-turn-complete","last-assistant-message":"All pass"}'"#
        #expect(try await reported(codex) == ["command: All pass: succeeded"])
    }

    @Test func `Each status in the table of the wire is read as it says`() throws {
        let rows = article.text.split(separator: "\n").filter {
            $0.hasPrefix("| `state=") || $0.hasPrefix("| `progress=")
        }
        #expect(rows.count == 11)
        for row in rows {
            let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let status = ProgramStatus(Array(cells[0].trimmingCharacters(in: ["`"]).utf8)[...])
            let parts = [
                status?.state.rawValue ?? "discarded", status?.progress.map { "\($0) %" },
                status?.id.map { "the part `\($0)`" }, status?.message.map { "\"\($0)\"" },
            ]
            #expect(parts.compactMap { $0 }.joined(separator: ", ") == cells[1])
        }
    }
}
