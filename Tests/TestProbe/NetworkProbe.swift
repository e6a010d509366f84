import Foundation
import NetworkKit
import NetworkKitImages

/// Makes requests, and prints the result and the process's peak memory in kB: `network upload|download URL FILE`,
/// `network stream URL -` or `network requests|abandon URL COUNT`. For `network end URL WAY`, see ``Ending``.
/// `network image URL -` decodes the image in a file. `network lookup URL URL` makes a request to a host
/// whose name is not found, and then one to the first URL. For `network limited URL COUNT`, see ``ThreadLimit``.
enum NetworkProbe {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let url = URL(string: arguments[1]) else { exit(64) }
        let result: String
        do {
            result = try await run(arguments[0], url, arguments[2])
        } catch {
            result = "error: \(error)"
        }
        print(result)
        print(statistic("VmHWM"))
    }

    /// With the authorities of the environment, for all hosts or one of them.
    static var options: NetworkClient.Options {
        let environment = ProcessInfo.processInfo.environment
        let authorities = environment["AUTHORITIES"].map { URL(filePath: $0) }
        var options = NetworkClient.Options()
        if let host = environment["TRUSTING"] {
            options.trust[host] = .init(certificateAuthorities: authorities)
        } else {
            options.certificateAuthorities = authorities
        }
        return options
    }

    /// Makes a request to a host whose name is not found within a second, and then one to another host.
    private static func lookUp(_ hung: URL, then url: URL) async throws -> String {
        let client = NetworkClient()
        do {
            _ = try await client.send(URLRoute(hung, .get("").with(\.timeLimit, .seconds(1))))
            return "found"
        } catch NetworkError.transport(let failure) {
            return try await "\(failure.kind), then \(client.send(URLRoute(url)).data.count) bytes"
        }
    }

    private static func run(_ command: String, _ url: URL, _ argument: String) async throws -> String {
        lazy var client = NetworkClient(options: options)
        switch command {
        case "upload":
            var form = MultipartForm()
            form.append("large", name: "title")
            form.append(file: URL(filePath: argument), name: "file")
            return try await client.send(URLRoute(url, .post("", body: .multipart(form)))).string()
        case "download":
            let file = URL(filePath: argument)
            let folder = file.deletingLastPathComponent().path
            do {
                _ = try await client.download(URLRoute(url), to: file, acrossRuns: true)
            } catch {
                // Listed here: the disk may be unmounted when this process ends.
                let left = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                return "error: \(error); left: \(left)"
            }
            return try "\(FileManager.default.attributesOfItem(atPath: argument)[.size] ?? 0)"
        case "stream":
            var count = 0
            for try await piece in try await client.bytes(URLRoute(url)) { count += piece.count }
            return "\(count)"
        case "abandon":
            try await abandon(url, Int(argument) ?? 0)
            return "ended"
        case "limited": return try await ThreadLimit.run(url, Int(argument) ?? 0)
        case "image":
            let image = try DecodedImage(decoding: Data(contentsOf: url))
            return "\(image.width) × \(image.height)"
        case "lookup": return try await lookUp(URL(string: argument) ?? url, then: url)
        case "end":
            try await Ending.end(url, argument)
            return "ended"
        default:
            var count = 0
            for _ in 0..<(Int(argument) ?? 0) where try await client.send(URLRoute(url)).data.count > 0 { count += 1 }
            return "\(count)"
        }
    }

    /// Cancels requests to a hung server: the first ones run, the others wait, and the last third is suspended.
    private static func abandon(_ url: URL, _ count: Int) async throws {
        do {
            let client = NetworkClient()
            let tasks = (0..<count).map { _ in client.start(URLRoute(url)) }
            // For the client's thread to have all of them.
            try await Task.sleep(for: .milliseconds(100))
            for task in tasks.suffix(count / 3) { task.suspend() }
            for task in tasks.reversed() { task.cancel() }
        }
        try await clientsEnd()
    }

    /// Waits for the threads of released clients, which end asynchronously and release libcurl's memory.
    private static func clientsEnd() async throws {
        func names() throws -> [String?] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").map {
                // A thread that has just ended has none.
                try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8)
            }
        }
        while try names().contains("network-kit\n") { try await Task.sleep(for: .milliseconds(10)) }
    }
}

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

/// Ends the process while libcurl's threads are busy, or about to end.
///
/// The way is `answered` (one request, whose client is released), or one in which requests, uploads and downloads
/// are going on: `release` (their client, when `main` returns), `return` from `main`, `exit` on another
/// thread, `signal`, `cancel` (all requests), `begin` (the first requests), `blocked` (by observers).
enum Ending {
    /// Until the end of the process: otherwise, the client is released before.
    nonisolated(unsafe) private static var kept: [NetworkClient] = []

    static func end(_ url: URL, _ way: String) async throws {
        let client = NetworkClient(options: NetworkProbe.options)
        let credentials = Credentials(user: "user", password: "secret")
        func route(_ request: Endpoint) -> URLRoute { URLRoute(url, request.with(\.credentials, credentials)) }
        if way != "begin" { _ = try await client.send(route(.get(""))) }
        guard way != "answered" else { return }
        let file = FileManager.default.temporaryDirectory.appending(path: "\(getpid())")
        let download = Task { _ = try? await client.download(route(.get("large")), to: file) }
        let tasks = (0..<8).map { number in
            let upload = Endpoint.post("echo", body: .data(Data(count: 1 << 20)))
            return client.start(route(number < 4 ? .get("\(number)") : upload)) { _ in
                if way == "blocked" { sleep(3600) }
            }
        }
        // Not always in the same state.
        usleep(UInt32(ProcessInfo.processInfo.environment["ENDING_NUMBER"].flatMap { Int($0) } ?? 0) * 701 % 3000)
        if way != "release" { kept.append(client) }
        switch way {
        case "exit": Thread.detachNewThread { exit(0) }
        case "signal": kill(getpid(), SIGTERM)
        case "cancel":
            download.cancel()
            for task in tasks { task.cancel() }
        default: break
        }
        // Another thread may be the one to get the signal.
        if ["exit", "signal"].contains(way) { try await Task.sleep(for: .seconds(3600)) }
    }
}
