import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorCore
import NetworkKit

/// Downloads files in parallel. Interrupted downloads are retried, and continued when the program runs again.
@main
struct Downloader: AsyncParsableCommand {
    @Argument(help: "The URLs to download.", transform: url)
    var urls: [URL]

    @Option(name: .shortAndLong, help: "The folder for the files.")
    var folder = "."

    func run() async throws {
        let source = ConfigurationSource(for: "downloader", defaults: ["backends": ["terminalProgress"]])
        let indicator = IndicatorManager.configured(from: source)
        let errors = await download(urls, into: URL(filePath: folder), indicator)
        await indicator.shutdown()
        for error in errors { FileHandle.standardError.write(Data("downloader: \(error)\n".utf8)) }
        if !errors.isEmpty { throw ExitCode.failure }
    }

    private static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text), url.host() != nil, !["", "/"].contains(url.lastPathComponent) else {
            throw ValidationError("'\(text)' is not the URL of a file")
        }
        return url
    }
}

/// Downloads all files, and returns the errors. A failure does not end the other downloads.
func download(_ urls: [URL], into folder: URL, _ indicator: IndicatorManager) async -> [any Error] {
    let client = NetworkClient(retry: .init(initialDelay: .milliseconds(500)))
    return await indicator.withActivity("Downloading \(urls.count) files", unit: .bytes) { group in
        group.update { $0.failsWithMembers = true }
        return await withTaskGroup(of: (any Error)?.self) { tasks in
            for url in urls {
                let file = folder.appending(path: url.lastPathComponent)
                let route = URLRoute(url, .get("").with(\.label, url.lastPathComponent))
                tasks.addTask {
                    do { _ = try await client.download(route, to: file, acrossRuns: true, in: group) } catch {
                        return error
                    }
                    return nil
                }
            }
            return await tasks.compactMap { $0 }.reduce(into: []) { $0.append($1) }
        }
    }
}
