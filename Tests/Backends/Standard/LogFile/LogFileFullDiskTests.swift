import Foundation
import IndicatorCore
import TestSupport
import Testing

@testable import IndicatorBackends

/// Files and devices that temporarily accept no data.
@Suite struct LogFileFullDiskTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// Runs the helper on a small file system.
    private func fillDisk(size: String, lines: Int) async throws -> [LogLine] {
        try decodeLog(await fillDisk("fill-disk", size: size, "lines=\(lines)").map { $0 + "\n" }.joined())
    }

    private func fillDisk(_ scenario: String, size: String, _ options: String...) async throws -> [String] {
        let writer = try Command.built("test-probe")
        let result = try await SmallDisk.run(
            [writer, "log", scenario, folder.appending("x.log")] + options,
            size: size,
            over: folder.path
        )
        try #require(result.status == 0, "\(result.error)")
        return result.output.split(separator: "\n").map(String.init)
    }

    @Test(.needs(.mounts)) func `Lines for which there is no space are lost, counted and reported`() async throws {
        let total = 200
        let lines = try await fillDisk(size: "64k", lines: total)
        let losses = lines.filter { $0.event == "lost" }
        let written = lines.filter { $0.label?.hasPrefix("full-") == true }
        // While the loss cannot be reported, the backend is not shown more.
        #expect(!losses.isEmpty && losses.map(\.count).reduce(written.count, +) <= total)
        #expect(lines.first?.label == "before" && lines.last?.label == "after")
    }

    @Test(.needs(.mounts)) func `The status reports the full disk and is clean afterwards`() async throws {
        let lines = try await fillDisk("watch-status", size: "64k")
        #expect(
            lines == [
                "running",
                "unavailable: log file 'x.log': cannot write to it: No space left on device; free space on its file system",
                "running", "shown", "hidden", "hidden",
            ]
        )
    }
}
