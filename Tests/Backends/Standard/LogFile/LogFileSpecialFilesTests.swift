import TestSupport

@testable import IndicatorBackends

/// Paths of directories, links, FIFOs, devices and files of other users.
@Suite struct LogFileSpecialFilesTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func startError(_ path: String) async -> Unavailability? {
        let backend = BackendDriver.log(path)
        do { try await backend.start() } catch { return error as? Unavailability }
        await backend.stop()
        return nil
    }

    /// What the check says, which makes nothing.
    private func checkError(_ path: String) throws -> Unavailability? {
        let path = try LogFilePath(path, applicationName: "x", environment: [:])
        do { _ = try LogFile.check(path) } catch { return error }
        return nil
    }

    /// Runs a script that uses `log`, the probe of log files.
    private func shell(_ script: String) async throws -> Command.Result {
        let log = try "log() { '\(Command.built("test-probe"))' log \"$@\"; }; "
        return try await Command.run("sh", ["-c", log + script])
    }

    private func labels(_ count: Int) -> [String] { (0..<count).map { "line-\($0)" } }

    @Test(arguments: [
        (".", "it is a directory; set 'path' to a file in it, such as 'FOLDER/./indicator.log'"),
        ("link", "it is a symbolic link, which a log file must not be; "),
        ("dangling", "it is a symbolic link, which a log file must not be; "), ("file/x.log", ": Not a directory; "),
        ("file/a/x.log", "a part of the path is a file"), ("socket", "it is a FIFO, a socket or a block device; "),
        ("fifo", "it is a FIFO, a socket or a block device; "), ("linked-folder/x.log", nil),
        (String(repeating: "x", count: 300), ": File name too long; "),
        ("cycle/x.log", "cannot open it: Too many levels of symbolic links"),
    ])
    func `What cannot be a log file is an error, and is unchanged`(name: String, problem: String?) async throws {
        try folder.write("precious\n", to: "file")
        mkdir(folder.appending("real"), 0o700)
        for (link, target) in [("link", "file"), ("dangling", "none"), ("linked-folder", "real"), ("cycle", "cycle")] {
            symlink(target, folder.appending(link))
        }
        for (name, type) in [("socket", S_IFSOCK), ("fifo", S_IFIFO)] {
            #expect(mknod(folder.appending(name), type | 0o600, 0) == 0)
        }
        let names = try folder.names()
        let path = folder.appending(name)
        for error in [try checkError(path), await startError(path)] {
            let expected = problem?.replacing("FOLDER", with: folder.path)
            #expect(expected.map { error?.description.contains($0) == true } ?? (error == nil), "\(error)")
        }
        #expect(try folder.names() == names && folder.read("file") == "precious\n")
    }

    @Test func `A folder that the user may not write is a clear error`() async throws {
        // Root may write everywhere, so the helper switches to another user.
        let user = geteuid() == 0 ? 65534 : geteuid()
        let path = folder.appending("private/x.log")
        mkdir(folder.appending("private"), 0o555)
        chmod(folder.path, 0o755)
        let arguments = [path] + (geteuid() == 0 ? ["user=\(user)"] : [])
        let result = try await Command.run(Command.built("test-probe"), ["log"] + arguments)
        #expect(result.status == 1)
        #expect(
            result.error
                == "log file '\(path)': cannot open it: Permission denied; let user \(user) read and write it and "
                + "enter its folders, or set 'path' to a file that this user may write\n"
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.appending("private")) == [])
    }

    @Test func `The file size limit does not end the process and leaves no incomplete line`() async throws {
        let words = [try Command.built("test-probe"), "log", folder.appending("x.log"), "lines=100", "lenient=1"]
        let result = try await Command.run("prlimit", ["--fsize=5000"] + words, package: "util-linux")
        #expect(result.status == 0, "\(result.error)")
        let text = try folder.read("x.log")
        #expect(text.utf8.count > 4800 && text.utf8.count <= 5000)
        let lines = try decodeLog(text)
        #expect(lines.map(\.label) == labels(lines.count))
    }

    @Test(.needs(.fullDevice)) func `A full device is an error`() async throws {
        let backend = try await BackendDriver.log("/dev/full").started()
        let problem = "log file '/dev/full': cannot write to it: No space left on device"
        let error = Unavailability(reason: problem, help: "free space on its file system")
        await #expect(throws: error) { try await backend.update(.shown()) }
        await #expect(throws: error) { try await backend.start() }
    }

    @Test(arguments: [("/dev/stdout", 1), ("/dev/stderr", 2)])
    func `A standard stream of any type is a log`(path: String, descriptor: Int) async throws {
        // A pipe of another user, as in a container, which cannot be opened by its path; a file; a closed stream.
        let user = geteuid() == 0 ? "user=65534" : ""
        let piped = try await shell("log \(path) lines=3 \(user)")
        #expect(try decodeLog(descriptor == 1 ? piped.output : piped.error).map(\.label) == labels(3))

        let file = folder.appending("redirected")
        #expect(try await shell("log \(path) lines=2 \(descriptor)>'\(file)'").status == 0)
        #expect(try decodeLog(folder.read("redirected")).map(\.label) == labels(2))

        #expect(try await shell("log \(path) \(descriptor)>&-").status == 1)
    }

    @Test func `A standard stream without space does not block writing`() async throws {
        // The reader reads nothing until the writer has ended, and the writer writes more than the 64 KiB of a pipe.
        // For a user who has many pipes, it has 8 KiB (pipe(7)).
        let marker = folder.appending("ended")
        let result = try await shell(
            "{ log /dev/stdout lines=2000 lenient=1; : >'\(marker)'; } | "
                + "{ while [ -d '\(folder.path)' ] && ! [ -e '\(marker)' ]; do sleep 0.01; done; cat; }"
        )
        let lines = try decodeLog(result.output)
        #expect(lines.count > 10 && lines.count < 2000)
        #expect(lines.map(\.label) == labels(lines.count))
    }

    private static let owned =
        "it belongs to user 65534, who may have put it there, because its folder can be written by others; remove it, "
        + "or set 'path' to a file in a folder that only user 0 can write"

    /// Whether others may write to the folder, who owns the file, and whether it has a second name. Root may change it.
    @Test(
        "A file of another user, or with a second name, is not written to in a folder that others may write",
        arguments: [
            (true, 65534, false, owned), (true, nil, true, "a second name"), (true, nil, false, nil),
            (false, 65534, false, nil), (false, 65534, true, nil),
        ] as [(Bool, uid_t?, Bool, String?)]
    )
    func shared(isShared: Bool, owner: uid_t?, isLinked: Bool, problem: String?) async throws {
        if owner != nil, geteuid() != 0 { return }
        chmod(folder.path, isShared ? 0o1777 : 0o700)
        let path = try folder.write("", to: "x.log")
        try #require(owner.map { chown(path, $0, $0) == 0 } ?? true)
        try #require(!isLinked || link(path, folder.appending("other")) == 0)
        let error = await startError(path)
        #expect(
            problem.map { error?.description.contains($0) == true } ?? (error == nil),
            "\(String(describing: error))"
        )
    }

    @Test(.needs(.root)) func `A link of another user to a folder is not followed`() async throws {
        chmod(folder.path, 0o1777)
        mkdir(folder.appending("real"), 0o700)
        let link = folder.appending("link")
        symlink("real", link)
        try #require(lchown(link, 65534, 65534) == 0)
        for path in ["\(link)/x.log", "\(link)/sub/x.log"] {
            for error in [try checkError(path), await startError(path)] {
                #expect(error?.reason.contains("symbolic link of user 65534") == true)
            }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.appending("real")).isEmpty)
        // A link of this user is.
        try #require(lchown(link, geteuid(), getegid()) == 0)
        #expect(await startError("\(link)/x.log") == nil)
    }

    /// Making the folders of such a path never ended.
    @Test func `A folder that cannot be made is an error, also in the check, and when it breaks later`() async throws {
        let link = folder.appending("link")
        symlink(folder.appending("mounted"), link)
        for (path, operation) in [
            ("/proc/nope/x.log", "make the folder '/proc/nope'"),
            ("/proc/nope/deeper/x.log", "make the folder '/proc/nope'"), ("\(link)/x.log", "open it"),
            ("\(link)/deeper/x.log", "make the folder '\(link)/deeper'"),
        ] where !path.hasPrefix("/proc") || geteuid() == 0 {
            let failure = await startError(path)
            #expect(failure?.reason.hasSuffix("cannot \(operation): No such file or directory") == true)
            #expect(failure?.help == "make or mount what a link on its path leads to, or set 'path' to another file")
            // What proc(5) refuses despite the permissions, only an attempt shows.
            if path.hasPrefix("/proc") { continue }
            let reason = try checkError(path)?.reason
            #expect(reason?.hasSuffix("cannot make a file in '\(link)': No such file or directory") == true)
        }
        // The target appears, and disappears while the log is open.
        mkdir(folder.appending("mounted"), 0o700)
        let backend = try await BackendDriver.log("\(link)/x.log").started()
        try FileManager.default.removeItem(atPath: folder.appending("mounted"))
        await #expect(throws: Unavailability.self) { try await backend.update(.shown("a")) }
        mkdir(folder.appending("mounted"), 0o700)
        try await backend.start()
        await backend.stop()
        #expect(try decodeLog(folder.read("mounted/x.log")).map(\.event) == ["lost"])
    }

    @Test("With closed standard streams, the log has another descriptor, and nobody else's text is in it")
    func closedStreams() async throws {
        #expect(try await shell("log '\(folder.appending("x.log"))' lines=2 said=text 2>&-").status == 0)
        #expect(try decodeLog(folder.read("x.log")).map(\.label) == labels(2))
    }
}
