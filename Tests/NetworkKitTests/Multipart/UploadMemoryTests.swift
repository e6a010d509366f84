import Foundation
import NetworkKit
import Subprocess
import Testing

@Suite struct UploadMemoryTests {
    /// In a process of its own, because a process's peak of memory is that of all that it ever did.
    @Test func aGigabyteIsUploadedInLittleMemory() async throws {
        let server = try RawServer.closing { request, connection in
            try connection.respond(text: "\(request.bodyCount)")
        }
        let folder = try TestFolder()
        let file = folder.url.appending(path: "large.bin")
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 1 << 30)
        try handle.close()
        let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "network-upload")
        let result = try await Subprocess.run(
            .name("env"),
            arguments: [program.path, server.url.absoluteString, file.path],
            output: .string(limit: 1 << 16),
            error: .string(limit: 1 << 16)
        )
        #expect(result.terminationStatus.isSuccess, "\(result.standardError)")
        let words = result.standardOutput.split(whereSeparator: \.isWhitespace)
        let received = try #require(words.first.flatMap { Int($0) })
        let peak = try #require(words.last.flatMap { Int($0) })
        #expect(received > 1 << 30)
        #expect(received < (1 << 30) + 1000)
        #if THREAD_SANITIZER
        // The sanitizer keeps several bytes of its own for each of the program's.
        let limit = 4 * 64 * 1024
        #else
        let limit = 64 * 1024
        #endif
        #expect(peak < limit, "\(peak) kB")
    }
}
