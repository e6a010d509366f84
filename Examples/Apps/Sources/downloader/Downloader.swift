import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorCore
import NetworkKit

/// Downloads files, several at once. What breaks off is tried again, and goes on where it was.
@main
struct Downloader: AsyncParsableCommand {
    @Argument(help: "What to download.", transform: url)
    var urls: [URL]

    @Option(name: .shortAndLong, help: "The folder to put the files into.")
    var folder = "."

    func run() async throws {
        let indicator = IndicatorManager.configured(for: "downloader")
        let failures = await download(urls, into: URL(filePath: folder), indicator)
        await indicator.shutdown()
        for failure in failures { FileHandle.standardError.write(Data("downloader: \(failure)\n".utf8)) }
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private static func url(_ text: String) throws -> URL {
        guard let url = URL(string: text), url.host() != nil, !url.lastPathComponent.isEmpty else {
            throw ValidationError("'\(text)' is not the URL of a file")
        }
        return url
    }
}

/// Downloads all, and returns why some could not be: one failure does not end the others.
func download(_ urls: [URL], into folder: URL, _ indicator: IndicatorManager) async -> [any Error] {
    let client = NetworkClient(retry: .init(initialDelay: .milliseconds(500)))
    return await indicator.withGroup("Downloading \(urls.count) files", total: urls.count) { group in
        group.failsWithMembers = true
        return await withTaskGroup { tasks in
            for url in urls {
                let name = url.lastPathComponent
                tasks.addTask { () -> (any Error)? in
                    do {
                        let route = URLRoute(url, label: name)
                        _ = try await client.download(route, to: folder.appending(path: name), in: group)
                        return nil
                    } catch { return error }
                }
            }
            return await tasks.reduce(into: []) { failures, failure in if let failure { failures.append(failure) } }
        }
    }
}
