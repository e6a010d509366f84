import Foundation

/// A temporary file that is written next to its target and replaces it when it is complete.
///
/// Other users cannot open it until it is complete. There are three kinds. One without a name (O_TMPFILE of open(2))
/// ends with its process. Where the file system has none, it has a unique name. A part, `.NAME.part`, is locked, and
/// continued by a later download of the same content; `.NAME.part.json` records what it is a part of.
final class PartialFile: @unchecked Sendable {
    // `@unchecked`: only one task at a time uses it.

    private static let suffix = ".partial"

    private let target: URL
    /// `nil` without a name.
    private let path: String?
    /// Where the content is recorded, if the file is a part.
    private let recordPath: String?
    private let descriptor: Int32
    private var hasEnded = false
    /// Whether the record on disk describes the file.
    private var isRecorded = false
    private(set) var count: Int64 = 0
    /// What the bytes are the beginning of; `nil` if they cannot be continued.
    private(set) var content: DownloadContent?

    /// Creates the file. Blocks.
    init(for target: URL) throws {
        self.target = target
        let folder = target.deletingLastPathComponent()
        // __O_TMPFILE of <asm-generic/fcntl.h>, which Swift does not import.
        let unnamed = open(folder.path, 0o20000000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o600)
        if unnamed >= 0 {
            (path, recordPath, descriptor) = (nil, nil, unnamed)
            return
        }
        let path = Self.uniquePath(for: target)
        descriptor = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.error(target) }
        (self.path, recordPath) = (path, nil)
    }

    private init(partOf target: URL, path: String, descriptor: Int32, count: Int64) {
        self.target = target
        self.path = path
        self.descriptor = descriptor
        self.count = count
        let recordPath = path + ".json"
        self.recordPath = recordPath
        content = Self.record(at: recordPath)
        if let length = content?.length, count >= length {
            // Complete, but not in place. A request for nothing would be an error, so the last byte is requested again.
            if count == length, length > 0, ftruncate(descriptor, Int(length) - 1) == 0 {
                self.count = length - 1
            } else {
                content = nil
            }
        }
        isRecorded = content != nil
        lseek(descriptor, Int(self.count), SEEK_SET)
    }

    /// Opens the part of an earlier download to the target, or creates it. Does not wait for other processes.
    ///
    /// - Returns: `nil` if another download writes the part, if another user could have written it, or if it cannot be
    ///   opened.
    static func part(of target: URL) -> PartialFile? {
        let path = target.deletingLastPathComponent().appending(path: prefix(of: target) + "part").path
        let descriptor = open(path, O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return nil }
        var (status, named) = (stat(), stat())
        let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) == 0
        guard isLocked, fstat(descriptor, &status) == 0, status.isOwnFile,
            // Before it was locked, another process may have moved it into place, or removed it.
            lstat(path, &named) == 0, named.st_ino == status.st_ino, named.st_dev == status.st_dev
        else {
            close(descriptor)
            return nil
        }
        guard status.st_mode & 0o077 == 0 else {
            // Another user may have opened it.
            unlink(path)
            close(descriptor)
            return nil
        }
        return PartialFile(partOf: target, path: path, descriptor: descriptor, count: Int64(status.st_size))
    }

    deinit {
        end()
        close(descriptor)
    }

    /// Removes the file, unless it has replaced its target or can be continued, and unlocks it.
    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        if !isRecorded || count == 0 {
            if let recordPath { unlink(recordPath) }
            if let path { unlink(path) }
        }
        flock(descriptor, LOCK_UN)
    }

    /// Changes what the bytes are the beginning of.
    func setContent(_ content: DownloadContent?) throws {
        self.content = content
        isRecorded = false
        guard let recordPath else { return }
        // A file of another user that cannot be removed is not read either.
        if unlink(recordPath) != 0, errno != ENOENT, Self.record(at: recordPath) != nil { throw Self.error(target) }
        guard let content, let data = try? JSONEncoder().encode(content) else { return }
        let descriptor = open(recordPath, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        // An incomplete record is not valid JSON.
        isRecorded = data.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) } == data.count
    }

    private static func record(at path: String) -> DownloadContent? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.isOwnFile, status.st_mode & 0o077 == 0,
            let data = try? file.read(upToCount: 1 << 20)
        else { return nil }
        return try? JSONDecoder().decode(DownloadContent.self, from: data)
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
                // Also of a piece for which there is no more room.
                count += Int64(written)
            }
        }
    }

    /// Truncates the file, for the bytes of a content.
    func restart(_ content: DownloadContent?) throws {
        // First, so that no record describes bytes of another content.
        try setContent(nil)
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.error(target) }
        count = 0
        if content != nil { try setContent(content) }
    }

    /// Renames the file. It replaces an existing target atomically.
    ///
    /// - Parameter isShared: whether other users may read the target, as far as the process's umask allows it.
    func moveIntoPlace(isShared: Bool = false) throws {
        if isShared { fchmod(descriptor, 0o666 & ~Self.fileModeMask) }
        let name = path ?? Self.uniquePath(for: target)
        guard path != nil || link(to: name), rename(name, target.path) == 0 else {
            defer {
                if path == nil { unlink(name) }
                fchmod(descriptor, 0o600)
            }
            throw Self.error(target)
        }
        if let recordPath { unlink(recordPath) }
        hasEnded = true
        flock(descriptor, LOCK_UN)
    }

    /// Gives a file without a name one. Another link to it replaces no file.
    private func link(to name: String) -> Bool {
        linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
    }

    private static func uniquePath(for target: URL) -> String {
        target.deletingLastPathComponent().appending(path: prefix(of: target) + UUID().uuidString + suffix).path
    }

    /// The process's umask, without changing it (proc(5)); a private one if it is not known.
    private static var fileModeMask: mode_t {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        let mask = lines.first { $0.hasPrefix("Umask:") }?.split(separator: "\t").last
        return mask.flatMap { mode_t($0, radix: 8) } ?? 0o077
    }

    /// Removes the files of killed processes in a folder: those that nobody has written to for an hour.
    static func removeLeftovers(in folder: URL) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] {
            let path = folder.appending(path: name).path
            var status = stat()
            guard name.hasPrefix("."), name.hasSuffix(suffix), lstat(path, &status) == 0, status.isOwnFile,
                status.st_mtim.tv_sec < time(nil) - 3600
            else { continue }
            unlink(path)
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

/// What the bytes of an interrupted download are the beginning of. Responses with further bytes must not contradict it.
struct DownloadContent: Codable {
    /// A strong validator.
    let validator: String
    /// The complete length in bytes; `nil` if it is unknown.
    var length: Int64?
    let encoding: String
    /// The key of the hashes, which do not reveal secrets of the URLs.
    private let key: Data
    private let request: String
    private let location: String

    /// - Parameters:
    ///   - request: what identifies the request.
    ///   - location: the URL of the response.
    init(validator: String, length: Int64?, encoding: String, request: String, location: URL) {
        let hash = KeyedHash()
        self.validator = validator
        self.length = length
        self.encoding = encoding
        key = hash.key
        self.request = hash.digest(request)
        self.location = hash.digest(location.withoutQuery)
    }

    func isRequested(by request: String) -> Bool { KeyedHash(key: key)?.digest(request) == self.request }

    /// Whether a response from the URL can be of the content. The query of a redirect may be a signature with a date.
    func isLocated(at url: URL) -> Bool { KeyedHash(key: key)?.digest(url.withoutQuery) == location }
}

extension URL {
    fileprivate var withoutQuery: String {
        var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
        parts?.query = nil
        return parts?.string ?? absoluteString
    }
}

extension stat {
    /// Whether it is a regular file of this user without another name.
    fileprivate var isOwnFile: Bool { st_mode & S_IFMT == S_IFREG && st_uid == geteuid() && st_nlink <= 1 }
}
