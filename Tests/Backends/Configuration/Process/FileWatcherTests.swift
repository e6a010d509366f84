import TestSupport

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
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func watch(_ path: String) throws -> (FileWatcher, Counter) {
        let counter = Counter()
        return (try FileWatcher(paths: [path], on: thread) { counter.add() }, counter)
    }

    /// Makes a change, and returns whether the watcher reported it.
    private func notices(_ counter: Counter, _ change: () throws -> Void) async throws -> Bool {
        let before = counter.value
        try change()
        return await eventually { counter.value > before }
    }

    @Test func `notices every way to change it`() async throws {
        let path = try folder.save("1")
        let (watcher, counter) = try watch(path)
        defer { watcher.stop() }
        let manager = FileManager.default

        #expect(try await notices(counter) { try Data("2".utf8).write(to: URL(filePath: path)) }, "in place")
        #expect(try await notices(counter) { try folder.save("3") }, "renamed over")
        #expect(try await notices(counter) { try manager.removeItem(atPath: path) }, "deleted")
        let unnamed = open(folder.path, 0o2000_0000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o600)  // O_TMPFILE
        linkat(AT_FDCWD, "/proc/self/fd/\(unnamed)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        #expect(try await notices(counter) { close(unnamed) }, "made without a name, and linked")
        #expect(try await notices(counter) { try folder.save("4") }, "back again")
        #expect(try await notices(counter) { try manager.moveItem(atPath: path, toPath: "\(path)~") }, "moved away")
        #expect(
            try await notices(counter) { try manager.linkItem(atPath: "\(path)~", toPath: path) },
            "back as another name of a file"
        )
        #expect(try await notices(counter) { try manager.removeItem(atPath: folder.path) }, "with its folder")
        #expect(try await notices(counter) { try folder.save("5") }, "and back with it")
        #expect(try await notices(counter) { try folder.save("6") }, "and once more")
    }

    /// As through a mount of the file alone (docker -v).
    @Test func `notices a change through another folder`() async throws {
        let path = try folder.save("1", to: "inside/indicator.yaml")
        try folder.save("", to: "outside/other")
        let other = "\(folder.path)/outside/indicator.yaml"
        try FileManager.default.linkItem(atPath: path, toPath: other)
        let (watcher, counter) = try watch(path)
        defer { watcher.stop() }
        for _ in 0..<2 {
            #expect(try await notices(counter) { try Data("2".utf8).write(to: URL(filePath: other)) })
        }
    }

    @Test(arguments: [true, false])
    func `notices a file when its writer closes it, anew or in place, in any mode`(isNew: Bool) async throws {
        // Not one that was deleted: a process that was forked meanwhile may close it later.
        let path = isNew ? "\(folder.path)/new.yaml" : try folder.save("1")
        let sibling = try folder.save("1", to: "sibling.yaml")
        let (watcher, counter) = try watch(path)
        let (other, siblings) = try watch(sibling)
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
        try folder.save("1", to: "first/indicator.yaml")
        try folder.save("2", to: "second/indicator.yaml")
        let manager = FileManager.default
        let path = "\(folder.path)/etc/indicator.yaml"
        try folder.save("", to: "etc/other")
        try manager.createSymbolicLink(atPath: "\(folder.path)/data", withDestinationPath: "first")
        try manager.createSymbolicLink(atPath: path, withDestinationPath: "../data/indicator.yaml")
        let (watcher, counter) = try watch(path)
        defer { watcher.stop() }

        #expect(try await notices(counter) { try folder.save("3", to: "first/indicator.yaml") }, "the target")
        // As in Kubernetes: a new link is renamed over the old one.
        #expect(
            try await notices(counter) {
                try manager.createSymbolicLink(atPath: "\(folder.path)/new", withDestinationPath: "second")
                rename("\(folder.path)/new", "\(folder.path)/data")
            },
            "the link of a folder"
        )
        #expect(try await notices(counter) { try folder.save("4", to: "second/indicator.yaml") }, "the new target")
        #expect(
            try await notices(counter) {
                try manager.removeItem(atPath: path)
                try manager.createSymbolicLink(atPath: path, withDestinationPath: "other")
            },
            "the link itself"
        )
        #expect(try await notices(counter) { try folder.save("5", to: "etc/other") }, "where it leads now")
    }

    @Test func `reports changes in quick succession as one`() async throws {
        let path = try folder.save("1")
        let (watcher, counter) = try watch(path)
        defer { watcher.stop() }
        for round in 0..<20 { try "\(round)".write(toFile: path, atomically: false, encoding: .utf8) }
        #expect(await eventually { counter.value > 0 })
        // One, or two when the machine paused for longer than the watcher waits; not twenty.
        #expect(counter.value < 10)
    }

    @Test func `reports nothing after it was stopped, and is deallocated`() async throws {
        let path = try folder.save("1")
        weak var released: FileWatcher?
        let counter: Counter
        do {
            let watcher: FileWatcher
            (watcher, counter) = try watch(path)
            released = watcher
            watcher.stop()
            watcher.stop()
        }
        #expect(await eventually { released == nil })
        try folder.save("2")
        #expect(counter.value == 0)
    }
}
