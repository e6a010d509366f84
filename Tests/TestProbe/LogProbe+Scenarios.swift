import Foundation
import IndicatorBackends
import IndicatorTesting

extension LogProbe {
    /// On a separate small file system: writes a line, fills the file system, writes `lines` more, frees space, and
    /// writes `after`. Prints the log.
    func fillDisk() async throws {
        let backend = driver()
        try await backend.start()
        try await backend.update(snapshot("before"))
        let ballast = (path as NSString).deletingLastPathComponent + "/ballast"
        try fill(ballast)
        let lines = number("lines", default: 10)
        for index in 0..<lines { try? await backend.update(snapshot("full-\(index)")) }
        // A reader must never see half a line.
        let meanwhile = try String(contentsOfFile: path, encoding: .utf8)
        guard meanwhile.hasSuffix("}\n") else {
            throw Failure("the full disk left half a line: \(meanwhile.suffix(300))")
        }
        try FileManager.default.removeItem(atPath: ballast)
        try await backend.update(snapshot("after"))
        await backend.stop()
        print(try String(contentsOfFile: path, encoding: .utf8), terminator: "")
    }

    /// On a separate small file system: prints the backend's status in normal use, when the file system is full, and
    /// when there is space again; then the events of the log.
    func watchStatus() async throws {
        let folder = (path as NSString).deletingLastPathComponent
        let indicator = IndicatorManager(delays: try IndicatorDelays(startDelay: .zero, completionDelay: .zero))
        indicator.addBackend(backend())
        func wait(for state: String) async throws {
            while indicator.backendStatuses.first?.state.name != state { try await Task.sleep(for: .milliseconds(5)) }
            print(
                (indicator.backendStatuses.first?.state.description ?? "").replacingOccurrences(of: path, with: "x.log")
            )
        }
        func work(label: String) async throws {
            indicator.start(label, label: label)
            for await snapshot in indicator.snapshots where snapshot.isVisible { break }
            // The outcome is not checked here.
            indicator.stop(label)
            for await snapshot in indicator.snapshots where !snapshot.isVisible { break }
        }
        try await work(label: "before")
        try await wait(for: "running")
        while try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").count < 3 {
            try await Task.sleep(for: .milliseconds(5))
        }
        try fill(folder + "/ballast")
        // Also the rest of the log's last page.
        try fill(path, with: [UInt8(ascii: "\n")])
        try await work(label: "full")
        try await wait(for: "unavailable")
        try FileManager.default.removeItem(atPath: folder + "/ballast")
        try await wait(for: "running")
        await indicator.shutdown()
        for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
            for event in ["shown", "hidden"] where line.contains("\"event\":\"\(event)\"") { print(event) }
        }
    }

    /// Fills the file system.
    private func fill(_ path: String, with bytes: [UInt8] = [UInt8](repeating: 0, count: 4096)) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(descriptor) }
        while write(descriptor, bytes, bytes.count) > 0 {}
        guard errno == ENOSPC else {
            throw Failure("the file system did not fill up: \(String(cString: strerror(errno)))")
        }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }
}
