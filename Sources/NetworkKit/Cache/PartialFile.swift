import Foundation
import IndicatorCore

/// A temporary file that is written next to its target and replaces it when it is complete. Other users cannot open it
/// before.
///
/// One without a name (O_TMPFILE of open(2)) ends with its process. Where the file system has none, it has a unique
/// name. A part, `.NAME.part`, is locked, and continued by a later download of the same content, which
/// `.NAME.part.json` records.
final class PartialFile: @unchecked Sendable {
    // `@unchecked`: only one task at a time uses it.

    private let target: URL
    /// `nil` without a name.
    private let path: String?
    /// Where the content is recorded, if the file is a part.
    private let record: URL?
    private let descriptor: Int32
    private var hasEnded = false
    private(set) var count: Int64 = 0
    /// What the bytes are the beginning of; `nil` if they cannot be continued.
    private(set) var content: DownloadContent?

    /// Creates the file. Blocks.
    init(for target: URL) throws {
        (self.target, record) = (target, nil)
        // __O_TMPFILE of <asm-generic/fcntl.h>, which Swift does not import.
        let unnamed = StandardStreams.excluding(
            open(target.folder.path, 0o20000000 | O_DIRECTORY | O_WRONLY | O_CLOEXEC, 0o600)
        )
        let path = unnamed < 0 ? target.hidden(UUID().uuidString + ".partial").path : nil
        descriptor =
            path.map { StandardStreams.excluding(open($0, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)) } ?? unnamed
        self.path = path
        guard descriptor >= 0 else { throw target.unwritable }
    }

    /// Opens the part of an earlier download to the target, or creates it; `nil` if another download writes it, another
    /// user could have written it, or it cannot be opened. Blocks.
    init?(partOf target: URL) {
        let part = target.hidden("part")
        guard let (descriptor, status) = Self.openOwn(part, O_CREAT | O_WRONLY) else { return nil }
        var named = stat()
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            // Before it was locked, another process may have moved it into place, or removed it.
            lstat(part.path, &named) == 0, named.st_ino == status.st_ino, named.st_dev == status.st_dev
        else {
            close(descriptor)
            return nil
        }
        let record = part.appendingPathExtension("json")
        (self.target, path, self.record, self.descriptor) = (target, part.path, record, descriptor)
        count = Int64(named.st_size)
        if let (descriptor, _) = Self.openOwn(record, O_RDONLY) {
            let data = try? FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).read(upToCount: 1 << 20)
            content = data.flatMap { try? JSONDecoder().decode(DownloadContent.self, from: $0) }
        }
        // A request for nothing would be an error.
        if let length = content?.length, count >= length { content = nil }
        lseek(descriptor, Int(count), SEEK_SET)
    }

    /// Opens a file that no other user can have opened.
    private static func openOwn(_ file: URL, _ flags: Int32) -> (Int32, stat)? {
        let descriptor = StandardStreams.excluding(
            open(file.path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        )
        guard descriptor >= 0 else { return nil }
        var status = stat()
        let isOwn =
            fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
            && status.st_nlink == 1
        if isOwn, status.st_mode & 0o077 == 0 { return (descriptor, status) }
        close(descriptor)
        // One on a file system without permissions must not stay.
        if isOwn, flags & O_CREAT != 0 { unlink(file.path) }
        return nil
    }

    deinit {
        end()
        close(descriptor)
    }

    /// Removes the file, unless it has replaced its target or can be continued, and unlocks it.
    func end() {
        guard !hasEnded else { return }
        hasEnded = true
        if record == nil || content == nil || count == 0 {
            if let record { unlink(record.path) }
            if let path { unlink(path) }
        }
        flock(descriptor, LOCK_UN)
    }

    /// Changes what the bytes are the beginning of.
    func setContent(_ content: DownloadContent?) throws {
        self.content = content
        guard let record else { return }
        guard let content else {
            unlink(record.path)
            // One of another user, which cannot be removed, is not read either.
            guard let (descriptor, _) = Self.openOwn(record, O_RDONLY) else { return }
            close(descriptor)
            throw target.unwritable
        }
        do {
            let file = try PartialFile(for: record)
            try file.write(JSONEncoder().encode(content))
            try file.moveIntoPlace()
        } catch {
            // Without a record, it cannot be continued.
            self.content = nil
        }
    }

    func write(_ data: Data) throws {
        try data.withUnsafeBytes { bytes in
            var start = 0
            while start < bytes.count {
                let written = Glibc.write(descriptor, bytes.baseAddress! + start, bytes.count - start)
                guard written >= 0 else {
                    if errno == EINTR { continue }
                    throw target.unwritable
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
        guard ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw target.unwritable }
        count = 0
        if content != nil { try setContent(content) }
    }

    /// Renames the file to its target, which it replaces atomically. By default only this user can read it.
    func moveIntoPlace(mode: mode_t? = nil) throws {
        let name = path ?? target.hidden(UUID().uuidString + ".partial").path
        let isNamed =
            path != nil
            || linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0
        // Of a part later: another process removes one that others can read.
        if let mode, record == nil { fchmod(descriptor, mode) }
        guard isNamed, rename(name, target.path) == 0 else {
            defer { if path == nil { unlink(name) } }
            throw target.unwritable
        }
        if let record {
            if let mode { fchmod(descriptor, mode) }
            unlink(record.path)
        }
        hasEnded = true
        flock(descriptor, LOCK_UN)
    }
}

/// Where a download is written: a new file, or an existing one with its mode.
struct DownloadPlace: Sendable {
    /// Without links.
    let file: URL
    let mode: mode_t

    /// Follows links. What is there must be a regular file. Blocks.
    init(_ file: URL) throws(NetworkError) {
        var (path, links) = (file.path, 0)
        // Also one that leads to no file.
        while links < 40, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
            // Without removing `..`, which leads out of the folder that a link leads to.
            path = target.first == "/" ? target : URL(filePath: path).folder.path + "/" + target
            links += 1
        }
        self.file = URL(filePath: path)
        var status = stat()
        guard lstat(path, &status) == 0 else {
            mode = 0o666 & ~Self.fileModeMask
            return
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .unwritable(file, reason: "it is not a regular file; remove it, or choose another one")
        }
        mode = status.st_mode & 0o777
    }

    /// The process's umask, without changing it (proc(5)); a private one if it is not known.
    private static var fileModeMask: mode_t {
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        let mask = lines.first { $0.hasPrefix("Umask:") }?.split(separator: "\t").last
        return mask.flatMap { mode_t($0, radix: 8) } ?? 0o077
    }
}

/// What the bytes of an interrupted download are the beginning of.
struct DownloadContent: Codable {
    /// A strong `ETag`.
    let tag: String
    /// The complete length in bytes; `nil` if it is unknown.
    let length: Int64?
    /// Of the hashes, which do not reveal secrets of the URLs.
    private let key: Data
    private let request: String
    private let location: String

    /// Hashes what identifies the request, and the URL of the response.
    init(tag: String, length: Int64?, request: String, location: URL) {
        let hash = KeyedHash()
        self.tag = tag
        self.length = length
        key = hash.key
        self.request = hash.digest(request)
        self.location = hash.digest(location.withoutSecrets)
    }

    /// Whether a response from the URL can be of the content. The query of a redirect may be a signature with a date.
    func isLocated(at url: URL) -> Bool { KeyedHash(key: key)?.digest(url.withoutSecrets) == location }

    func isRequested(by request: String) -> Bool { KeyedHash(key: key)?.digest(request) == self.request }
}

extension URL {
    fileprivate var folder: URL { deletingLastPathComponent() }

    /// A hidden file in the same folder, whose name has at most 255 bytes.
    fileprivate func hidden(_ suffix: String) -> URL {
        var name = Substring(lastPathComponent)
        while name.utf8.count > 150 { name.unicodeScalars.removeLast() }
        return folder.appending(path: ".\(name).\(suffix)")
    }

    /// The error after a system call has failed.
    fileprivate var unwritable: NetworkError { .unwritable(self, reason: String(cString: strerror(errno))) }
}
