import TestSupport
import IndicatorBackends

@testable import BackendConfiguration

@Suite("The bytes of a config file")
struct ConfigurationFileTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func report(ofFileAt path: String) -> String? {
        do throws(ConfigurationError) {
            _ = try IndicatorConfiguration.load(from: ConfigurationSource(path: path))
        } catch {
            return error.description
        }
        return nil
    }

    @Test(.timeLimit(.minutes(10))) func `are read from a regular file only`() throws {
        let (fifo, loop) = (folder.appending("fifo"), folder.appending("loop"))
        try #require(mkfifo(fifo, 0o600) == 0)
        symlink("loop", loop)
        let below = try folder.save("{}", to: "file") + "/indicator.yaml"
        let other = "this is not a file, but a folder or device"
        for (path, problem) in [
            (folder.path, other), (fifo, other), ("/dev/zero", other), ("", "this is not the path of a file"),
            (below, "the file cannot be read: Not a directory"),
            (loop, "the file cannot be read: Too many levels of symbolic links"),
        ] {
            #expect(report(ofFileAt: path) == "\(path): error: \(problem)")
        }
    }

    @Test func `are 128 KiB at most`() throws {
        let limit = ConfigurationFile.largestSize
        let largest = try folder.save(String(repeating: "#", count: limit), to: "largest.yaml")
        let configuration = try IndicatorConfiguration.load(from: ConfigurationSource(path: largest))
        #expect(configuration.file == largest)
        let huge = try folder.save(String(repeating: "#", count: limit + 1), to: "huge.yaml")
        #expect(
            report(ofFileAt: huge)
                == "\(huge): error: this file is larger than 128 KiB; a config file is a page of text"
        )
    }

    @Test(arguments: [
        "", "\n", "# only a comment\n", "---\n", "---\n...\n", "{}", "null", "\u{FEFF}", "\u{FEFF}# x\r\n",
        "   \n\n",
    ])
    func `may be empty, in every form`(text: String) throws {
        let path = try folder.save(text)
        let configuration = try IndicatorConfiguration.load(from: ConfigurationSource(path: path))
        #expect(configuration.backends.map(\.name) == ["terminalTitle", "dbusProperty"])
        #expect(configuration.file == path)
        #expect(configuration.warnings.isEmpty)
    }

    @Test(arguments: [
        ("startDelay: 1\r\ncolour: x\r\n", 2, 1), ("\u{FEFF}colour: x\n", 1, 1),
        ("# é 😀\nterminalTitle: {format: \"😀é\", colour: x}\n", 2, 31),
    ])
    func `are counted in lines and columns as in an editor`(text: String, line: Int, column: Int) throws {
        let path = try folder.save(text)
        #expect(report(ofFileAt: path)?.hasPrefix("\(path):\(line):\(column): error: unknown key 'colour'") == true)
    }

    @Test(arguments: [0o666, 0o662]) func `are not used when others can write the file`(mode: Int) throws {
        let path = try folder.save("startDelay: 2\n")
        #expect(report(ofFileAt: path) == nil)
        try #require(chmod(path, mode_t(mode)) == 0)
        let reason = "can be written by other users (chmod go-w)"
        #expect(report(ofFileAt: path) == "\(path): error: this file \(reason); it is not used")
    }

    @Test(.needs(.root))
    func `are not used when the file belongs to another user, also behind a link of the user`() throws {
        let path = try folder.save("startDelay: 2\n")
        let other: uid_t = 12_345
        let reason = "belongs to user 12345, expected 0 or root (chown)"
        try #require(chown(path, other, 0) == 0)
        #expect(report(ofFileAt: path) == "\(path): error: this file \(reason); it is not used")
        let link = "\(folder.path)/link.yaml"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(report(ofFileAt: link) == "\(link): error: this file \(reason); it is not used")
    }
}

@Suite("A file with a secret")
struct SecretFileTests {
    @Test func `is worth a warning if every user can read it, and enter the folders above`() throws {
        let folder = try TemporaryDirectory()
        let path = try folder.save("secret", to: "a/secret")
        for (mode, folderMode) in [(0o600, 0o755), (0o644, 0o700)] {
            try #require(chmod(path, mode_t(mode)) == 0 && chmod("\(folder.path)/a", mode_t(folderMode)) == 0)
            #expect(SecretFile.warning(path) == nil)
        }
        let warning = "the file '/etc/passwd' has a secret, and every user can read it (chmod o-r)"
        #expect(SecretFile.warning("/etc/passwd") == warning)
    }
}
