import Foundation
import IndicatorCore
import IndicatorTesting
import TestSupport
import Testing

@testable import IndicatorBackends

/// Processes that write to the same file.
@Suite struct LogFileSharingTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func `Two processes share a file through many rotations`() async throws {
        let helper = try Command.built("test-probe")
        let meeting = try TemporaryDirectory()
        let path = folder.appending("x.log")
        let lines = 1500
        let options = ["lines=\(lines)", "maxSize=10000", "keep=1000", "meetAt=\(meeting.path)"]
        async let first = Command.run(helper, ["log", "write", path, "prefix=a"] + options)
        async let second = Command.run(helper, ["log", "write", path, "prefix=b"] + options)
        for result in try await [first, second] { #expect(result.status == 0, "\(result.error)") }

        // From the oldest to the latest.
        let names = try folder.names().sorted { number($0) > number($1) }
        #expect(names.count > 30)
        var labels: [String: [String]] = [:]
        var fullFiles = 0
        for name in names {
            let text = try folder.read(name)
            #expect(text.utf8.count <= 10_000)
            if text.utf8.count > 9800 { fullFiles += 1 }
            for label in try decodeLog(text).compactMap(\.label) {
                labels[String(label.prefix(1)), default: []].append(label)
            }
        }
        for prefix in ["a", "b"] {
            #expect(labels[prefix] == (0..<lines).map { "\(prefix)-\($0)" })
        }
        // Each file was rotated once, by one of the two.
        #expect(fullFiles == names.count - 1)
    }

    private func number(_ name: String) -> Int { Int(name.split(separator: ".").last ?? "") ?? 0 }

    @Test func `Two backends of one process share a file`() async throws {
        let path = folder.appending("x.log")
        try await withThrowingTaskGroup { group in
            for prefix in ["a", "b"] {
                group.addTask {
                    let backend = try await LogFileBackend.fixture(path: path, maxSize: 5000, keep: 1000).started()
                    for index in 0..<300 { try await backend.update(.shown("\(prefix)-\(index)")) }
                    await backend.stop()
                }
            }
            try await group.waitForAll()
        }
        let labels = try folder.names().flatMap { try decodeLog(folder.read($0)).compactMap(\.label) }
        #expect(Set(labels).count == 600 && labels.count == 600)
    }

    @Test func `A lock that is never released does not block writing`() async throws {
        let path = folder.appending("x.log")
        let backend = try await LogFileBackend.fixture(path: path, maxSize: 300).started()
        // A process that may read the file can lock it.
        let other = open(path, O_RDONLY | O_CLOEXEC)
        try #require(flock(other, LOCK_EX | LOCK_NB) == 0)
        for label in ["a", "b", "c"] { try await backend.update(.shown(label)) }
        #expect(try decodeLog(folder.read("x.log")).map(\.label) == ["a", "b", "c"])
        #expect(try folder.names() == ["x.log"])
        // Closing alone is not enough: a child that another test forks meanwhile inherits the descriptor.
        flock(other, LOCK_UN)
        close(other)
        // Rotation needs the lock, and happens as soon as it is free.
        try await backend.update(.shown("d"))
        await backend.stop()
        #expect(try decodeLog(folder.read("x.log")).map(\.label) == ["d"])
    }
}
