import Foundation

/// A file that is written beside its target and renamed into its place when it is whole.
///
/// It is locked while its writer lives. That distinguishes what a killed process left behind, which the next writer
/// removes, from what another process is writing.
final class PartialFile: @unchecked Sendable {
    // `@unchecked`: one task at a time uses it.

    private static let suffix = ".partial"

    private let target: URL
    private let path: String
    private let descriptor: Int32
    private var isInPlace = false
    private(set) var count: Int64 = 0

    /// Makes the file. Blocks.
    init(for target: URL, mode: mode_t) throws {
        self.target = target
        let folder = target.deletingLastPathComponent()
        while true {
            let path = folder.appending(path: Self.prefix(of: target) + UUID().uuidString + Self.suffix).path
            let descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode)
            guard descriptor >= 0 else { throw Self.error(target) }
            flock(descriptor, LOCK_EX)
            var status = stat()
            fstat(descriptor, &status)
            if status.st_nlink > 0 {
                self.path = path
                self.descriptor = descriptor
                return
            }
            // Another process took it for a left-over before it was locked.
            close(descriptor)
        }
    }

    deinit {
        if !isInPlace { unlink(path) }
        close(descriptor)
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

    /// Begins anew.
    func removeContents() throws {
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.error(target) }
        count = 0
    }

    /// Puts the file in its place. What was there before is replaced at once.
    func moveIntoPlace() throws {
        guard rename(path, target.path) == 0 else { throw Self.error(target) }
        isInPlace = true
    }

    /// Removes what writers that no longer live have left behind. Returns how many files that were.
    ///
    /// - Parameter target: whose files; `nil`: all in the folder.
    @discardableResult
    static func removeLeftovers(in folder: URL, for target: URL? = nil) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        let prefix = target.map { Self.prefix(of: $0) } ?? "."
        return names.count { name in
            // The folder is the user's: nothing but what `init` has named.
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

    private static func prefix(of target: URL) -> String { ".\(target.lastPathComponent.prefix(150))." }

    private static func error(_ target: URL) -> NetworkError {
        .unwritable(target, reason: String(cString: strerror(errno)))
    }
}
