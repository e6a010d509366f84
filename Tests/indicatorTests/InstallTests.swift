import TestSupport

/// The functions of `Scripts/install` that need no release build.
@Suite struct InstallTests {
    private let folder: TemporaryDirectory
    private let functions = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Scripts/lib/place").path

    init() throws { folder = try TemporaryDirectory() }

    private func run(_ command: String) async throws -> Int {
        let script = "set -euo pipefail; cd '\(folder.path)'; source '\(functions)'; \(command)"
        return try await Command.run("bash", ["-c", script]).status
    }

    @Test func `A program that runs is replaced, and a link instead of what it points to`() async throws {
        #expect(try await run("mkdir -p new/bin elsewhere old; ln -s ../elsewhere old/bin") == 0)
        #expect(try await run("cp /bin/sleep old/bin/running; echo mine >target") == 0)
        #expect(try await run("ln -s ../target old/bin/link; echo new | tee new/bin/running >new/bin/link") == 0)
        let running = try Daemon(folder.appending("old/bin/running"), ["1000"])
        #expect(try await run("place new old env") == 0)
        #expect(running.isRunning)
        for name in ["old/bin/running", "old/bin/link"] { #expect(try folder.read(name) == "new\n") }
        #expect(try folder.read("target") == "mine\n")
    }

    @Test(
        .needs("cc", package: "gcc"),
        arguments: [
            ("-Wl,-z,now", true), ("-Wl,-z,now,-rpath,$ORIGIN", false), ("-Wl,-z,lazy", false),
            ("-Wl,-z,now,--disable-new-dtags,-rpath,/tmp", false),
        ]
    )
    func `A program with a search path for libraries, or that binds addresses late, is not installed`(
        options: String,
        isHardened: Bool
    ) async throws {
        #expect(try await run("echo 'int main() { return 0; }' >main.c; cc '\(options)' main.c -o program") == 0)
        #expect(try await run("require_hardened program") == (isHardened ? 0 : 1))
    }
}
