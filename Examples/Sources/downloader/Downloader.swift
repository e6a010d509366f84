import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorCore
import NetworkKit

/// Downloads files in parallel. Interrupted downloads are retried and resumed.
@main
struct Downloader: AsyncParsableCommand {
    @Argument(help: "The URLs to download.", transform: url)
    var urls: [URL]

    @Option(name: .shortAndLong, help: "The folder for the files.")
    var folder = "."

    func run() async throws {
        let indicator = IndicatorManager.configured(for: "downloader")
        do {
            try await download(urls, into: URL(filePath: folder), indicator)
        } catch {
            await indicator.shutdown()
            throw error
        }
        await indicator.shutdown()
    }

    private static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text), url.host() != nil, !url.lastPathComponent.isEmpty else {
            throw ValidationError("'\(text)' is not the URL of a file")
        }
        return url
    }
}

/// Downloads all files. A failure does not end the other downloads; the first error is thrown at the end.
func download(_ urls: [URL], into folder: URL, _ indicator: IndicatorManager) async throws {
    let client = NetworkClient(retry: .init(initialDelay: .milliseconds(500)))
    try await indicator.withGroup("Downloading \(urls.count) files", total: urls.count) { group in
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            for url in urls {
                let file = folder.appending(path: url.lastPathComponent)
                let route = URLRoute(url, label: url.lastPathComponent)
                tasks.addTask { _ = try await client.download(route, to: file, in: group) }
            }
            try await tasks.waitForAll()
        }
    }
}
