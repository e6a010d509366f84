import Foundation
import IndicatorBackends
import IndicatorTesting

/// Runs one log file scenario in a separate process.
///
/// Usage: `test-probe log SCENARIO PATH [KEY=VALUE …]`. `user` and `group` switch to these IDs. Exit status: 0 success,
/// 1 the backend threw an error (printed to standard error), 64 wrong usage.
struct LogProbe {
    let path: String
    let arguments: [String]

    // On the main thread, which is the only one until it suspends: setuid(2) can miss a thread that is starting.
    @MainActor static func run(_ arguments: [String]) async {
        guard arguments.count >= 2 else { exit(64) }
        // The backend must not depend on the parent's signal dispositions.
        signal(SIGPIPE, SIG_DFL)
        signal(SIGXFSZ, SIG_DFL)
        let writer = LogProbe(path: arguments[1], arguments: arguments)
        if let user = option("user", in: arguments).flatMap(UInt32.init) {
            let group = option("group", in: arguments).flatMap(UInt32.init) ?? user
            guard setgroups(0, nil) == 0, setgid(group) == 0, setuid(user) == 0 else { exit(77) }
        }
        do {
            switch arguments[0] {
            case "write": try await writer.write()
            case "fill-disk": try await writer.fillDisk()
            default: exit(64)
            }
        } catch {
            // Not with `FileHandle`, which traps when standard error is closed.
            let text = "\(error)\n"
            Foundation.write(STDERR_FILENO, text, text.utf8.count)
            exit(1)
        }
    }

    private func number(_ name: String, default defaultValue: Int) -> Int {
        option(name, in: arguments).flatMap(Int.init) ?? defaultValue
    }

    private func driver() -> BackendDriver<LogFileBackend> {
        let (maxSize, keep) = (number("maxSize", default: 0), number("keep", default: 3))
        let settings = LogFileBackend.Settings(path: path, maxSize: maxSize, keep: keep)
        return BackendDriver(LogFileBackend(applicationName: "writer", settings: settings))
    }

    /// A snapshot that the backend logs: its label is another one.
    private func snapshot(_ label: String) -> IndicatorSnapshot {
        IndicatorSnapshot(state: .active, activityCount: 1, label: label)
    }

    /// Writes `lines` lines with the labels `<prefix>-<number>`. With `lenient`, a line may be lost. `meetAt` names a
    /// folder in which the writer waits for a second one.
    private func write() async throws {
        let backend = driver()
        try await backend.start()
        // By others, on standard error.
        if let said = option("said", in: arguments) { Foundation.write(STDERR_FILENO, said, said.utf8.count) }
        if let folder = option("meetAt", in: arguments) {
            meet(in: folder, as: option("prefix", in: arguments) ?? "line")
        }
        for index in 0..<number("lines", default: 1) {
            do { try await backend.update(snapshot("\(option("prefix", in: arguments) ?? "line")-\(index)")) } catch {
                guard option("lenient", in: arguments) != nil else { throw error }
            }
        }
        await backend.stop()
    }

    /// Waits until two writers have reached this point, so that they write at the same time.
    private func meet(in folder: String, as name: String) {
        _ = FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: nil)
        while (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 2 < 2 { usleep(200) }
    }

    /// On a separate small file system: writes a line, fills the file system, writes `lines` more, frees space, and
    /// writes `after`. Prints the log.
    private func fillDisk() async throws {
        let backend = driver()
        try await backend.start()
        try await backend.update(snapshot("before"))
        let ballast = (path as NSString).deletingLastPathComponent + "/ballast"
        let descriptor = open(ballast, O_WRONLY | O_CREAT, 0o600)
        let zeros = [UInt8](repeating: 0, count: 4096)
        while Foundation.write(descriptor, zeros, zeros.count) > 0 {}
        guard errno == ENOSPC else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        for index in 0..<number("lines", default: 10) { try? await backend.update(snapshot("full-\(index)")) }
        // A reader must never see half a line.
        let meanwhile = try String(contentsOfFile: path, encoding: .utf8)
        precondition(meanwhile.hasSuffix("}\n"), "the full disk left half a line: \(meanwhile.suffix(300))")
        close(descriptor)
        try FileManager.default.removeItem(atPath: ballast)
        try await backend.update(snapshot("after"))
        await backend.stop()
        print(try String(contentsOfFile: path, encoding: .utf8), terminator: "")
    }
}
