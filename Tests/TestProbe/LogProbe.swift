import Foundation
import IndicatorBackends
import IndicatorTesting

/// Writes a log file in a separate process.
///
/// Usage: `test-probe log PATH [KEY=VALUE …]`. It writes `lines` lines with the labels `<prefix>-<number>`. With
/// `lenient`, a line may be lost. `said` is what others write to standard error meanwhile. `meetAt` names a folder in
/// which the writer waits for a second one, so that they write at the same time. `user` and `group` switch to these
/// IDs. Exit status: 0 success, 1 the backend threw an error (printed to standard error).
enum LogProbe {
    // On the main thread, which is the only one until it suspends: setuid(2) can miss a thread that is starting.
    @MainActor static func run(_ arguments: [String]) async {
        // The backend must not depend on the parent's signal dispositions.
        signal(SIGPIPE, SIG_DFL)
        signal(SIGXFSZ, SIG_DFL)
        func number(_ name: String) -> Int? { option(name, in: arguments).flatMap { Int($0) } }
        if let user = number("user").map(UInt32.init) {
            let group = number("group").map(UInt32.init) ?? user
            guard setgroups(0, nil) == 0, setgid(group) == 0, setuid(user) == 0 else { exit(77) }
        }
        let prefix = option("prefix", in: arguments) ?? "line"
        let settings = LogFileBackend.Settings(
            path: arguments[0],
            maxSize: number("maxSize") ?? 0,
            keep: number("keep") ?? 3
        )
        let backend = BackendDriver(LogFileBackend(applicationName: "writer", settings: settings))
        do {
            try await backend.start()
            if let said = option("said", in: arguments) { write(STDERR_FILENO, said, said.utf8.count) }
            if let folder = option("meetAt", in: arguments) {
                _ = FileManager.default.createFile(atPath: "\(folder)/\(prefix)", contents: nil)
                while try FileManager.default.contentsOfDirectory(atPath: folder).count < 2 { usleep(200) }
            }
            for index in 0..<(number("lines") ?? 1) {
                let snapshot = IndicatorSnapshot(state: .active, activityCount: 1, label: "\(prefix)-\(index)")
                do { try await backend.update(snapshot) } catch {
                    guard option("lenient", in: arguments) != nil else { throw error }
                }
            }
            await backend.stop()
        } catch {
            // Not with `FileHandle`, which traps when standard error is closed.
            let text = "\(error)\n"
            write(STDERR_FILENO, text, text.utf8.count)
            exit(1)
        }
    }
}
