import IndicatorCore
import Foundation

/// Reports when the file at one of several paths may have changed: it was written, replaced, created or deleted, or a
/// link on its path was changed.
///
/// A thread waits for inotify(7) without a time limit. It wakes for events in the folders of the files, or in those
/// where a missing folder would be created. Changes in quick succession, as editors make them, are reported once, and
/// only when no new file at any of the paths is still being written.
final class FileWatcher: PollSource, @unchecked Sendable {
    // `@unchecked`: after `init`, what is not constant is only used on the thread.

    /// How long there must be no event before a change counts as complete.
    private static let quietTime = Duration.milliseconds(50)

    private let paths: [String]
    private let changed: @Sendable () -> Void
    private let inotify: Int32
    private let thread: ServiceThread
    /// When a change counts as complete; `nil` while there is none.
    private var due: SuspendingClock.Instant?
    private var watches: [CInt: (folder: String, names: Set<String>)] = [:]
    /// While a file was created or written, and its writer has not closed it: the name of its close if it was made
    /// without one (O_TMPFILE), and linked here.
    private var unfinished: String?

    /// Starts to watch paths, which need not exist. `changed` is called on the thread after each change; the
    /// contents may be unchanged.
    init(paths: [String], on thread: ServiceThread, changed: @escaping @Sendable () -> Void) throws(Unavailability) {
        (self.paths, self.thread, self.changed) = (paths, thread, changed)
        inotify = StandardStreams.excluding(inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK)))
        if let code = inotify >= 0 ? updateWatches() : errno {
            let help = "raise the limits fs.inotify.max_user_* of sysctl"
            let isLimit = code == EMFILE || code == ENOSPC
            throw Unavailability(reason: String(cString: strerror(code)), help: isLimit ? help : nil)
        }
        // The thread keeps the watcher alive until `stop`.
        thread.call(at: .min) { [self] in _ = thread.add(self) }
    }

    deinit { if inotify >= 0 { close(inotify) } }

    /// Stops watching. A running call of `changed` is completed; no other follows.
    func stop() {
        // After it was added: calls of the same time keep their order.
        thread.call(at: .min) { [self] in thread.remove(self) }
    }

    // MARK: - On the thread

    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        ([pollfd(fd: inotify, events: Int16(POLLIN), revents: 0)], due)
    }

    func turn(_ descriptors: [pollfd]) {
        let now = SuspendingClock.now
        if takeEvents() { due = now + Self.quietTime }
        guard due.map({ $0 <= now }) == true else { return }
        due = nil
        // Before the file is read, so that later changes are not missed.
        _ = updateWatches()
        // Otherwise another event follows.
        if unfinished == nil { changed() }
    }

    private func takeEvents() -> Bool {
        var isRelevant = false
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let (count, headerSize) = (read(inotify, &buffer, buffer.count), MemoryLayout<inotify_event>.size)
        var events = buffer[..<max(count, 0)]
        while events.count >= headerSize {
            let event = events.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
            events = events.dropFirst(headerSize)
            let name = String(decoding: events.prefix(Int(event.len)).prefix { $0 != 0 }, as: UTF8.self)
            events = events.dropFirst(Int(event.len))
            if concernsFile(event, name: name) { isRelevant = true }
        }
        return isRelevant
    }

    /// Whether a file may have changed. An event without a name is of a folder or file that is watched, or says that
    /// events were lost.
    private func concernsFile(_ event: inotify_event, name: String) -> Bool {
        func isAny(_ events: Int32...) -> Bool { events.contains { event.mask & UInt32($0) != 0 } }
        guard name.isEmpty || watches[event.wd]?.names.contains(name) == true || name == unfinished
        else { return false }
        var status = stat()
        let isNew = isAny(IN_CREATE) && lstat("\(watches[event.wd]?.folder ?? "")/\(name)", &status) == 0
        // Another event follows when the writer closes the file: it is complete only then, whatever its mode.
        if isAny(IN_MODIFY) || isNew && status.st_mode & S_IFMT == S_IFREG && status.st_nlink == 1 {
            unfinished = "#\(status.st_ino)"
            return false
        }
        if isAny(IN_CLOSE_WRITE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO, IN_Q_OVERFLOW) { unfinished = nil }
        return !isAny(IN_IGNORED)
    }

    /// Watches exactly the relevant folders, and the files themselves: one that is mounted by itself, as in a
    /// container, is written through another folder. Returns the error if no folder can be watched.
    private func updateWatches() -> CInt? {
        let ofFolder =
            IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_DELETE_SELF
            | IN_MOVE_SELF | Int32(IN_ONLYDIR)
        var (failure, folders): (CInt?, [String: Set<String>])
        // Repeated until nothing changed while watches were added: a folder created before its parent is watched causes
        // no event.
        repeat {
            (failure, folders) = (nil, currentFolders)
            var updated: [CInt: (folder: String, names: Set<String>)] = [:]
            func watch(_ path: String, _ events: CInt, _ names: Set<String> = []) {
                let watch = inotify_add_watch(inotify, path, UInt32(bitPattern: events))
                if watch < 0 { failure = errno } else { updated[watch, default: (path, [])].names.formUnion(names) }
            }
            for (folder, names) in folders {
                watch(folder, ofFolder, names)
                for path in names.map({ "\(folder)/\($0)" }) {
                    var status = stat()
                    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
                    watch(path, IN_MODIFY | IN_CLOSE_WRITE)
                }
            }
            for watch in watches.keys where updated[watch] == nil { inotify_rm_watch(inotify, watch) }
            watches = updated
        } while currentFolders != folders
        // Files are watched without names.
        return watches.values.contains { !$0.names.isEmpty } ? nil : failure
    }

    /// The folders and names to watch now.
    private var currentFolders: [String: Set<String>] {
        paths.reduce(into: [:]) { $0.merge(watchPoints(for: $1)) { $0.union($1) } }
    }
}

/// The folders, and the names in them, to watch for changes of the file at an absolute path.
///
/// These are the file's folder, because editors write a new file and rename it over the old one; the folder of every
/// link on the path, because links are replaced too (Kubernetes swaps a whole folder behind one); and if a part of the
/// path does not exist, the folder in which it would be created.
package func watchPoints(for path: String) -> [String: Set<String>] {
    // The last one first.
    func parts(of path: String) -> [String] { path.split(separator: "/").map(String.init).reversed() }
    var (names, folder, remaining) = ([String: Set<String>](), "", parts(of: path))
    // The limit of Linux (path_resolution(7)).
    var linksLeft = 40
    while let name = remaining.popLast() {
        if name == "." { continue }
        if name == ".." {
            folder = String(folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)])
            continue
        }
        let candidate = "\(folder)/\(name)"
        var status = stat()
        let exists = lstat(candidate, &status) == 0
        let isLink = exists && status.st_mode & S_IFMT == S_IFLNK
        if exists, !isLink, !remaining.isEmpty {
            folder = candidate
            continue
        }
        names[folder.isEmpty ? "/" : folder, default: []].insert(name)
        linksLeft -= 1
        // Only of a link: the error takes 400 KiB at its first use.
        let target = isLink ? try? FileManager.default.destinationOfSymbolicLink(atPath: candidate) : nil
        guard let target, linksLeft > 0 else { break }
        if target.hasPrefix("/") { folder = "" }
        remaining += parts(of: target)
    }
    return names
}
