import Foundation
import IndicatorCore
import TestSupport
import Testing

@testable import IndicatorBackends

/// Paths that are not, or not easily, those of a log.
@Suite struct LogFileSpecialFilesTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

    private func startError(_ path: String) async -> LogFileError? {
        let backend = LogFileBackend.fixture(path: path)
        do {
            try await backend.start()
            await backend.stop()
            return nil
        } catch {
            return error as? LogFileError
        }
    }

    @Test func aDirectoryIsAnError() async {
        let error = await startError(folder.path)
        #expect(error == .isDirectory(path: folder.path))
        #expect(
            error?.description
                == "log file '\(folder.path)': it is a directory; set 'path' to a file in it, such as "
                + "'\(folder.path)/indicator.log'"
        )
    }

    @Test func aFIFOWithoutReaderIsAnErrorAtOnce() async {
        let path = folder.appending("fifo")
        mkfifo(path, 0o600)
        #expect(await startError(path) == .fifoWithoutReader(path: path))
    }

    @Test func aSymbolicLinkIsAnErrorAndWhatItPointsToIsLeftAlone() async throws {
        let target = try folder.write("precious\n", to: "target")
        let path = folder.appending("x.log")
        symlink(target, path)
        #expect(await startError(path) == .isSymbolicLink(path: path))
        #expect(try folder.read("target") == "precious\n")
        let dangling = folder.appending("y.log")
        symlink(folder.appending("nowhere"), dangling)
        #expect(await startError(dangling) == .isSymbolicLink(path: dangling))
        #expect(try folder.names() == ["target", "x.log", "y.log"])
    }

    @Test func aLinkToTheFolderIsFine() async throws {
        mkdir(folder.appending("real"), 0o700)
        symlink("real", folder.appending("link"))
        #expect(await startError(folder.appending("link/x.log")) == nil)
        #expect(mode(of: folder.appending("real/x.log")) == 0o600)
    }

    @Test func aPathUnderAFileIsAnError() async throws {
        let path = try folder.write("", to: "file") + "/x.log"
        #expect(await startError(path) == .system(path: path, operation: "open it", code: ENOTDIR))
        let deeper = folder.appending("file/a/x.log")
        #expect(await startError(deeper)?.description.contains("a part of the path is a file") == true)
    }

    @Test func aSocketIsAnError() async throws {
        let path = folder.appending("socket")
        #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        #expect(await startError(path) == .unsupportedFileType(path: path, type: "socket"))
    }

    @Test func aNameThatIsTooLongIsAnError() async {
        let path = folder.appending(String(repeating: "x", count: 300))
        #expect(await startError(path)?.description.contains("set 'path' to a shorter one") == true)
    }

    @Test func aFolderThatTheUserMayNotWriteIsAClearError() async throws {
        // Root may write everywhere, and becomes another user for that.
        let user = geteuid() == 0 ? 65534 : geteuid()
        let path = folder.appending("private/x.log")
        mkdir(folder.appending("private"), 0o555)
        chmod(folder.path, 0o755)
        let arguments = ["write", path] + (geteuid() == 0 ? ["user=\(user)"] : [])
        let result = try await Command.run(Command.built("log-file-writer"), arguments)
        #expect(result.status == 1)
        #expect(
            result.error
                == "log file '\(path)': cannot open it: Permission denied; let user \(user) read and write it and "
                + "enter its folders, or set 'path' to a file that this user may write\n"
        )
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.appending("private")) == [])
    }

    @Test func aFIFOWithReaderIsALog() async throws {
        let path = folder.appending("fifo")
        mkfifo(path, 0o600)
        let reader = open(path, O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        let backend = LogFileBackend.fixture(path: path, maxSize: 100)
        try await backend.start()
        try await backend.update(.shown(String(repeating: "x", count: 5000)))
        try await backend.update(.hidden(at: 2))
        await backend.stop()
        #expect(try decodeLog(readAvailable(reader)).map(\.event) == ["shown", "hidden"])
        #expect(try folder.names() == ["fifo"])
    }

    @Test func aReaderThatLeavesDoesNotEndTheProcess() async throws {
        let result = try await Command.run(Command.built("log-file-writer"), ["lose-reader", folder.appending("fifo")])
        #expect(result.status == 0, "\(result.error)")
        #expect(try decodeLog(result.output).map(\.label) == ["alone-0", "alone-1", "alone-2", "second"])
    }

    @Test func theFileSizeLimitDoesNotEndTheProcessAndLeavesNoHalfLine() async throws {
        let path = folder.appending("x.log")
        let result = try await Command.run(
            Command.built("log-file-writer"),
            ["write", path, "lines=100", "fileSizeLimit=5000"]
        )
        #expect(result.status == 0, "\(result.error)")
        let text = try folder.read("x.log")
        #expect(text.utf8.count > 4800 && text.utf8.count <= 5000)
        let lines = try decodeLog(text)
        #expect(lines.map(\.label) == lines.indices.map { "line-\($0)" })
    }

    @Test func devicesAreLogs() async {
        #expect(await startError("/dev/null") == nil)
    }

    @Test func aFullDeviceDoesNotThrow() async throws {
        let backend = LogFileBackend.fixture(path: "/dev/full")
        try await backend.start()
        try await backend.update(.shown())
        try await backend.update(.hidden(at: 1))
        await backend.stop()
    }

    @Test func aDirectoryInThePlaceOfTheLogIsAnErrorUntilItIsGone() async throws {
        let path = folder.appending("x.log")
        let backend = LogFileBackend.fixture(path: path)
        try await backend.start()
        try await backend.update(.shown("a", at: 1))
        try FileManager.default.removeItem(atPath: path)
        mkdir(path, 0o700)
        await #expect(throws: LogFileError.isDirectory(path: path)) { try await backend.update(.hidden(at: 2)) }
        await backend.stop()
        rmdir(path)
        try await backend.start()
        try await backend.update(.hidden(at: 2))
        await backend.stop()
        let lines = try decodeLog(folder.read("x.log"))
        #expect(lines.map(\.event) == ["lost", "hidden"])
        #expect(lines.first?.count == 1)
    }
}
