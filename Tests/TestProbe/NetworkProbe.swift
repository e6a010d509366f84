import Foundation
import NetworkKit
import NetworkKitImages

/// Makes requests, and prints the result and the process's peak memory in kB: `network upload|download URL FILE`,
/// `network stream URL -` or `network requests|abandon URL COUNT`. For `network end URL WAY`, see ``Ending``.
/// `network image URL -` decodes the image in a file. `network lookup URL URL` makes a request to a host
/// whose name is not found, and then one to the first URL. For `network limited URL COUNT`, see ``ThreadLimit``.
enum NetworkProbe {
    static func run(_ arguments: [String]) async throws {
        guard arguments.count == 3, let url = URL(string: arguments[1]) else {
            FileHandle.standardError.write(Data("usage: test-probe network COMMAND URL FILE|COUNT|URL|WAY\n".utf8))
            exit(64)
        }
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
