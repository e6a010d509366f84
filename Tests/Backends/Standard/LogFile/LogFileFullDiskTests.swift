import Foundation
import IndicatorCore
import TestSupport
import Testing

@testable import IndicatorBackends

/// Files and devices that temporarily accept no data.
@Suite struct LogFileFullDiskTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
    }

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

    @Test(.needs(.mounts))
    func linesThatFitInMemoryAreWrittenWhenSpaceReturns() async throws {
        let lines = try await fillDisk(size: "64k", lines: 200)
        #expect(lines.map(\.label) == ["before"] + (0..<200).map { "full-\($0)" } + ["after"])
    }

    @Test(.needs(.mounts))
    func linesThatDoNotFitInMemoryAreCountedInTheirPlace() async throws {
        let total = 10_000
        let lines = try await fillDisk(size: "2m", lines: total)
        // A `lost` line is shorter than the others, so one may be written where no other fits. The counts add up.
        let losses = lines.indices.filter { lines[$0].event == "lost" }
        let place = try #require(losses.first)
        #expect(losses == Array(place..<place + losses.count))
        let written = lines[..<place].dropFirst().compactMap(\.label)
        // The last page of the full disk still had space for some.
        #expect(!written.isEmpty)
        #expect(written == (0..<written.count).map { "full-\($0)" })
        let kept = lines[(place + losses.count)...].dropLast().compactMap(\.label)
        #expect(kept == (total - kept.count..<total).map { "full-\($0)" })
        // 1 MiB of lines, which have between 128 and 256 bytes.
        #expect((4096...8192).contains(kept.count))
        #expect(losses.map { lines[$0].count }.reduce(0, +) == total - written.count - kept.count)
        #expect(lines.last?.label == "after")
    }

    @Test(.needs(.mounts))
    func theStatusReportsTheFullDiskAndIsCleanAfterwards() async throws {
        let lines = try await fillDisk("watch-status", size: "64k")
        #expect(
            lines == [
                "running",
                "unavailable: log file 'x.log': there is no space for a whole line; its lines wait in memory; "
                    + "free space on its file system, or let its reader continue",
                "running", "shown", "hidden", "shown", "hidden",
            ]
        )
    }

    @Test func aLineThatATerminalAcceptsInPartsIsComplete() async throws {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        defer { close(terminal) }
        var number: Int32 = 0
        // TIOCGPTN and TIOCSPTLCK of ioctl_tty(2), macros that Swift does not import.
        try #require(ioctl(terminal, 0x8004_5430, &number) == 0)
        var isLocked: Int32 = 0
        try #require(ioctl(terminal, 0x4004_5431, &isLocked) == 0)
        var settings = termios()
        tcgetattr(terminal, &settings)
        cfmakeraw(&settings)
        tcsetattr(terminal, TCSANOW, &settings)

        let backend = LogFileBackend.fixture(path: "/dev/pts/\(number)")
        try await backend.start()
        var text = ""
        for index in 0..<400 {
            try? await backend.update(.shown("\(index)"))
            // The terminal's buffer holds some KiB, which is not a multiple of a line.
            if index % 200 == 199 {
                text += readAvailable(terminal)
                #expect(!text.hasSuffix("\n"))
            }
        }
        let isComplete = await eventually {
            try? await backend.update(.shown("399"))
            text += readAvailable(terminal)
            return text.hasSuffix("\n") && text.split(separator: "\n").count == 400
        }
        #expect(isComplete)
        await backend.stop()
        #expect(try decodeLog(text).map(\.label) == (0..<400).map { "\($0)" })
    }

    @Test func exactlyTheLostLinesAreCounted() async throws {
        let path = folder.appending("fifo")
        mkfifo(path, 0o600)
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        let backend = LogFileBackend.fixture(path: path, pendingBytes: 2000)
        try await backend.start()
        for index in 0..<1000 { try? await backend.update(.shown(String(index))) }
        let before = try decodeLog(readAvailable(reader))
        try await backend.update(.shown("end"))
        let after = try decodeLog(readAvailable(reader))
        await backend.stop()
        let loss = try #require(after.first)
        #expect(loss.event == "lost")
        #expect(before.count + loss.count + after.count - 1 == 1001)
    }
}
