import Foundation
import NetworkKit

/// Requests of a process that may have no more, or only a few more, threads.
enum ThreadLimit {
    /// Downloads files while the process may have a number of further threads, and one after that. Returns how many of
    /// them ended, and whether the last one succeeded.
    ///
    /// With high priority: libdispatch has other threads for it than for `DispatchQueue.global()`, and waits without
    /// end for the first one of either kind.
    static func run(_ url: URL, _ more: Int) async throws -> String {
        try await Task(priority: .high) { try await runTask(url, more) }.value
    }

    private static func runTask(_ url: URL, _ more: Int) async throws -> String {
        await withTaskGroup { group in
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { group.addTask { _ = usleep(100_000) } }
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let client = NetworkClient()
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        Limits.set(Limits.threads, rlim_t(threads + more))
        let count = await withTaskGroup { group in
            for number in 0..<10 {
                group.addTask {
                    do {
                        _ = try await client.download(URLRoute(url), to: folder.appending(path: "\(number)"))
                        return true
                    } catch {
                        return "\(error)".contains("could not start the network thread")
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        Limits.set(Limits.threads, .max)
        _ = try await client.download(URLRoute(url), to: folder.appending(path: "last"))
        return "\(count) ended, then 1"
    }
}
