import TestSupport

/// What of `Scripts/install` needs no release build.
@Suite struct InstallTests {
    private let folder: TemporaryDirectory
    private let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    init() throws { folder = try TemporaryDirectory() }

    private func run(_ command: String) async throws -> Int {
        let script = "set -euo pipefail; cd '\(folder.path)'; source '\(root.path)/Scripts/lib/place'; \(command)"
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

    /// What silently gives another result without the data: `1234.4999999999998` for `1234.5.formatted()`. The texts of
    /// NSError (`localizedDescription`) are no such thing.
    @Test func `Nothing that indicator is made of reads the data of ICU, which is left out`() throws {
        let readers =
            /\.formatted\(|(Date|Number|Count|Components)Formatter\b|NSRegular|\bCalendar\b|\.localized(?!Desc|Fail)/
        for folder in ["IndicatorCore", "Backends", "IndicatorCommands", "indicator"] {
            let sources = root.appending(path: "Sources/\(folder)")
            let files = try FileManager.default.subpathsOfDirectory(atPath: sources.path)
            for file in files where file.hasSuffix(".swift") {
                let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
                for line in text.split(separator: "\n") {
                    #expect(!line.prefix { $0 != "/" }.contains(readers), "\(file): \(line)")
                }
            }
        }
    }
}
