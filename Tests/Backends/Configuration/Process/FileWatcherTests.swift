import Foundation
import IndicatorCore
import IndicatorThreads
import TestSupport
import Testing

@testable import BackendConfiguration

@Suite("The watcher of a file", .timeLimit(.minutes(10)))
struct FileWatcherTests {
    /// Counts the changes that a watcher reports.
    private final class Counter: Sendable {
        private let count = Locked(0)
        var value: Int { count.withLock { $0 } }
        func add() { count.withLock { $0 += 1 } }
    }

    private let thread = ServiceThread(name: "watcher", idleTime: .zero)

    /// Makes a change, and returns whether the watcher reported it.
    private func notices(_ counter: Counter, _ change: () throws -> Void) async throws -> Bool {
        let before = counter.value
        try change()
        return await eventually { counter.value > before }
    }

    @Test func `notices every way to change it`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("1")
        let counter = Counter()
        let watcher = try FileWatcher(paths: [path], on: thread) { counter.add() }
        defer { watcher.stop() }
        let manager = FileManager.default

        #expect(try await notices(counter) { try Data("2".utf8).write(to: URL(filePath: path)) }, "in place")
        #expect(
            try await notices(counter) { try "3".write(toFile: path, atomically: true, encoding: .utf8) },
            "renamed over"
        )
        #expect(try await notices(counter) { try manager.removeItem(atPath: path) }, "deleted")
        let unnamed = open(folder.path, 0o2000_0000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o600)  // O_TMPFILE
        linkat(AT_FDCWD, "/proc/self/fd/\(unnamed)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        #expect(try await notices(counter) { close(unnamed) }, "made without a name, and linked")
        #expect(try await notices(counter) { try folder.write("4") }, "back again")
        #expect(try await notices(counter) { try manager.moveItem(atPath: path, toPath: "\(path)~") }, "moved away")
        #expect(
            try await notices(counter) { try manager.linkItem(atPath: "\(path)~", toPath: path) },
            "back as another name of a file"
        )
        #expect(try await notices(counter) { try manager.removeItem(atPath: folder.path) }, "with its folder")
        #expect(try await notices(counter) { try folder.write("5") }, "and back with it")
        #expect(try await notices(counter) { try folder.write("6") }, "and once more")
    }

    /// As through a mount of the file alone (docker -v).
    @Test func `notices a change through another folder`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("1", to: "inside/indicator.yaml")
        try folder.write("", to: "outside/other")
        let other = "\(folder.path)/outside/indicator.yaml"
        try FileManager.default.linkItem(atPath: path, toPath: other)
        let counter = Counter()
        let watcher = try FileWatcher(paths: [path], on: thread) { counter.add() }
        defer { watcher.stop() }
        for _ in 0..<2 {
            #expect(try await notices(counter) { try Data("2".utf8).write(to: URL(filePath: other)) })
        }
    }

    @Test(arguments: [true, false])
    func `notices a file when its writer closes it, written anew or in place, whatever its mode`(isNew: Bool)
        async throws
    {
        let folder = try TemporaryFolder()
        // Not one that was deleted: a process that was forked meanwhile may close it later.
        let path = isNew ? "\(folder.path)/new.yaml" : try folder.write("1")
        let sibling = try folder.write("1", to: "sibling.yaml")
        let (counter, siblings) = (Counter(), Counter())
        let watcher = try FileWatcher(paths: [path], on: thread) { counter.add() }
        let other = try FileWatcher(paths: [sibling], on: thread) { siblings.add() }
        defer { for watcher in [watcher, other] { watcher.stop() } }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        _ = "startDelay".withCString { write(descriptor, $0, strlen($0)) }
        chmod(path, 0o640)
        // Reported later than what came before would be.
        #expect(try await notices(siblings) { try Data("2".utf8).write(to: URL(filePath: sibling)) })
        #expect(counter.value == 0)
        #expect(try await notices(counter) { close(descriptor) })
        #expect(try await notices(counter) { chmod(path, 0o600) }, "a mode that may make it valid")
    }

    @Test func `follows links, of the file and of folders`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("1", to: "first/indicator.yaml")
        try folder.write("2", to: "second/indicator.yaml")
        let manager = FileManager.default
        let path = "\(folder.path)/etc/indicator.yaml"
        try folder.write("", to: "etc/other")
        try manager.createSymbolicLink(atPath: "\(folder.path)/data", withDestinationPath: "first")
        try manager.createSymbolicLink(atPath: path, withDestinationPath: "../data/indicator.yaml")
        let counter = Counter()
        let watcher = try FileWatcher(paths: [path], on: thread) { counter.add() }
        defer { watcher.stop() }

        #expect(try await notices(counter) { try folder.write("3", to: "first/indicator.yaml") }, "the target")
        // As in Kubernetes: a new link is renamed over the old one.
        #expect(
            try await notices(counter) {
                try manager.createSymbolicLink(atPath: "\(folder.path)/new", withDestinationPath: "second")
                rename("\(folder.path)/new", "\(folder.path)/data")
            },
            "the link of a folder"
        )
        #expect(try await notices(counter) { try folder.write("4", to: "second/indicator.yaml") }, "the new target")
        #expect(
            try await notices(counter) {
                try manager.removeItem(atPath: path)
                try manager.createSymbolicLink(atPath: path, withDestinationPath: "other")
            },
            "the link itself"
        )
        #expect(try await notices(counter) { try folder.write("5", to: "etc/other") }, "where it leads now")
    }

    @Test func `reports changes in quick succession as one`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("1")
        let counter = Counter()
        let watcher = try FileWatcher(paths: [path], on: thread) { counter.add() }
        defer { watcher.stop() }
        for round in 0..<20 { try "\(round)".write(toFile: path, atomically: false, encoding: .utf8) }
        #expect(await eventually { counter.value > 0 })
        // One, or two when the machine paused for longer than the watcher waits; not twenty.
        #expect(counter.value < 10)
    }

    @Test func `reports nothing after it was stopped, and is deallocated`() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("1")
        weak var released: FileWatcher?
        let counter = Counter()
        do {
            let watcher = try FileWatcher(paths: [path], on: thread) { counter.add() }
            released = watcher
            watcher.stop()
            watcher.stop()
        }
        #expect(await eventually { released == nil })
        try folder.write("2")
        #expect(counter.value == 0)
    }
}
