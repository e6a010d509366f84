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

    /// Makes a change, and waits until the watcher reports it.
    private func notices(
        _ counter: Counter,
        _ what: String = "",
        at location: SourceLocation = #_sourceLocation,
        _ change: () throws -> Void
    ) async throws {
        let before = counter.value
        try change()
        await expectEventually("\(what)", at: location) { counter.value > before }
    }

    @Test func `notices every way to change it`() async throws {
        let path = try folder.save("1")
        let (watcher, counter) = try watch(path)
        defer { watcher.stop() }
        let manager = FileManager.default

        try await notices(counter, "in place") { try Data("2".utf8).write(to: URL(filePath: path)) }
        try await notices(counter, "renamed over") { try folder.save("3") }
        try await notices(counter, "deleted") { try manager.removeItem(atPath: path) }
        let unnamed = open(folder.path, 0o2000_0000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o600)  // O_TMPFILE
        linkat(AT_FDCWD, "/proc/self/fd/\(unnamed)", AT_FDCWD, path, AT_SYMLINK_FOLLOW)
        try await notices(counter, "made without a name, and linked") { close(unnamed) }
        try await notices(counter, "back again") { try folder.save("4") }
        try await notices(counter, "moved away") { try manager.moveItem(atPath: path, toPath: "\(path)~") }
        try await notices(counter, "back as another name of a file") {
            try manager.linkItem(atPath: "\(path)~", toPath: path)
        }
        try await notices(counter, "with its folder") { try manager.removeItem(atPath: folder.path) }
        try await notices(counter, "and back with it") { try folder.save("5") }
        try await notices(counter, "and once more") { try folder.save("6") }
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
            try await notices(counter) { try Data("2".utf8).write(to: URL(filePath: other)) }
        }
    }

    @Test(arguments: [true, false])
    func `notices a file when its writer closes it, anew or in place, in any mode`(isNew: Bool) async throws {
        // Not one that was open or deleted: a process that was forked meanwhile may close it later.
        let path = "\(folder.path)/new.yaml"
        if !isNew { mknod(path, S_IFREG | 0o600, 0) }
        let sibling = try folder.save("1", to: "sibling.yaml")
        let (watcher, counter) = try watch(path)
        let (other, siblings) = try watch(sibling)
        defer { for watcher in [watcher, other] { watcher.stop() } }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        _ = "startDelay".withCString { write(descriptor, $0, strlen($0)) }
        chmod(path, 0o640)
        // Reported later than what came before would be.
        try await notices(siblings) { try Data("2".utf8).write(to: URL(filePath: sibling)) }
        #expect(counter.value == 0)
        try await notices(counter) { close(descriptor) }
        try await notices(counter, "a mode that may make it valid") { chmod(path, 0o600) }
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

        try await notices(counter, "the target") { try folder.save("3", to: "first/indicator.yaml") }
        // As in Kubernetes: a new link is renamed over the old one.
        try await notices(counter, "the link of a folder") {
            try manager.createSymbolicLink(atPath: "\(folder.path)/new", withDestinationPath: "second")
            rename("\(folder.path)/new", "\(folder.path)/data")
        }
        try await notices(counter, "the new target") { try folder.save("4", to: "second/indicator.yaml") }
        try await notices(counter, "the link itself") {
            try manager.removeItem(atPath: path)
            try manager.createSymbolicLink(atPath: path, withDestinationPath: "other")
        }
        try await notices(counter, "where it leads now") { try folder.save("5", to: "etc/other") }
    }

    @Test func `reports changes in quick succession as one`() async throws {
        let path = try folder.save("1")
        let (watcher, counter) = try watch(path)
        defer { watcher.stop() }
        var (pauses, last) = (0, SuspendingClock.now)
        for round in 0..<20 {
            try "\(round)".write(toFile: path, atomically: false, encoding: .utf8)
            // The watcher waits for 50 ms; a busy machine may pause for longer.
            if SuspendingClock.now - last > .milliseconds(40) { pauses += 1 }
            last = .now
        }
        #expect(await eventually { counter.value > 0 })
        #expect(counter.value <= 1 + 2 * pauses)
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

@Suite("The folders to watch for a file")
struct WatchPointsTests {
    private static let points: [(sentence: String, path: String, points: [String: Set<String>])] = [
        ("its own", "a/b/file", ["./a/b": ["file"]]),
        ("its own, in every form", "a/./b/../b/file", ["./a/b": ["file"]]),
        ("where it would be", "a/b/none", ["./a/b": ["none"]]),
        ("where the missing part of its path would be", "x/y/file", [".": ["x"]]),
        ("those of every link in its path", "etc/file", ["./etc": ["file"], ".": ["data"], "./a/b": ["file"]]),
        ("those of a link with an absolute path", "etc/absolute", ["./etc": ["absolute"], "./a/b": ["none"]]),
        ("not endless, for a cycle of links", "one", [".": ["one", "other"]]),
    ]

    @Test(arguments: points)
    func `are where a change of its text can be seen`(sentence: String, path: String, expected: [String: Set<String>])
        throws
    {
        let folder = try TemporaryDirectory()
        try folder.save("", to: "a/b/file")
        mkdir(folder.appending("etc"), 0o700)
        for (link, target) in [
            ("data", "a/b"), ("etc/file", "../data/file"), ("etc/absolute", folder.appending("a/b/none")),
            ("one", "other"), ("other", "one"),
        ] {
            symlink(target, folder.appending(link))
        }
        var points: [String: Set<String>] = [:]
        for (place, names) in watchPoints(for: folder.appending(path)) {
            points[place.replacing(folder.path, with: ".")] = names
        }
        #expect(points == expected, "\(sentence)")
    }
}
