import Foundation

/// A temporary file that is written next to its target and replaces it when it is complete.
///
/// It is locked while it is written. An unlocked file was left behind by a killed process, and the next writer removes
/// it. Other users cannot open it, and so cannot lock it, until it is complete.
final class PartialFile: @unchecked Sendable {
    // `@unchecked`: only one task at a time uses it.

    private static let suffix = ".partial"

    private let target: URL
    private let path: String
    private let descriptor: Int32
    private var isInPlace = false
    private(set) var count: Int64 = 0

    /// Creates the file. Blocks.
    init(for target: URL) throws {
        self.target = target
        let folder = target.deletingLastPathComponent()
        while true {
            let path = folder.appending(path: Self.prefix(of: target) + UUID().uuidString + Self.suffix).path
            let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw Self.error(target) }
            flock(descriptor, LOCK_EX)
            var status = stat()
            fstat(descriptor, &status)
            if status.st_nlink > 0 {
                self.path = path
                self.descriptor = descriptor
                return
            }
            // Another process has removed the file before it was locked.
            close(descriptor)
        }
    }

    deinit {
        remove()
        close(descriptor)
    }

    /// Removes the file unless it has replaced its target.
    func remove() {
        if !isInPlace { unlink(path) }
    }

    func write(_ data: Data) throws {
        try data.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let written = Glibc.write(descriptor, bytes.baseAddress! + start, bytes.count - start)
                guard written >= 0 else {
                    if errno == EINTR { continue }
                    throw Self.error(target)
                }
                start += written
            }
        }
        count += Int64(data.count)
    }

    /// Truncates the file.
    func removeContents() throws {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.error(target) }
        count = 0
    }

    /// Renames the file. It replaces an existing target atomically.
    ///
    /// - Parameter isShared: whether other users may read the target, as far as the process's umask allows it.
    func moveIntoPlace(isShared: Bool = false) throws {
        if isShared { fchmod(descriptor, 0o666 & ~Self.fileModeMask) }
        guard rename(path, target.path) == 0 else { throw Self.error(target) }
        isInPlace = true
    }

    /// Gives the file the name of its target, unless that exists. Returns whether it has it now.
    func linkIntoPlace() -> Bool { link(path, target.path) == 0 }

    /// The process's umask, without changing it (proc(5)); a private one if it is not known.
    private static var fileModeMask: mode_t {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        let mask = lines.first { $0.hasPrefix("Umask:") }?.split(separator: "\t").last
        return mask.flatMap { mode_t($0, radix: 8) } ?? 0o077
    }

    /// Removes the files of killed processes. Returns their number.
    ///
    /// - Parameter target: the target of the files; `nil`: all files in the folder.
    @discardableResult
    static func removeLeftovers(in folder: URL, for target: URL? = nil) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let prefix = target.map { Self.prefix(of: $0) } ?? "."
        return names.count { name in
            // The folder belongs to the user, so only names that `init` has created are removed.
            guard name.hasPrefix(prefix), name.hasSuffix(suffix),
                UUID(uuidString: String(name.dropLast(suffix.count).suffix(36))) != nil
            else { return false }
            let path = folder.appending(path: name).path
            let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            guard descriptor >= 0 else { return false }
            defer { close(descriptor) }
            return flock(descriptor, LOCK_EX | LOCK_NB) == 0 && unlink(path) == 0
        }
    }

    /// The beginning of a name of at most 255 bytes.
    private static func prefix(of target: URL) -> String {
        var name = Substring(target.lastPathComponent)
        while name.utf8.count > 150 { name.unicodeScalars.removeLast() }
        return ".\(name)."
    }

    private static func error(_ target: URL) -> NetworkError {
        .unwritable(target, reason: String(cString: strerror(errno)))
    }
}
