import Foundation

/// An open log file: the one place that sees its file descriptor.
package final class AppendFile {
    /// What kind of file it is.
    package enum Kind: Sendable, Hashable {
        /// A regular file: locked while it is written, rotated, and repaired after a write that was cut short.
        case regular
        /// A FIFO or a character device: only written.
        case stream
    }

    /// Which file it is, under whatever name.
    package struct Identity: Sendable, Hashable {
        fileprivate var device: dev_t
        fileprivate var inode: ino_t

        fileprivate init(_ status: stat) {
            device = status.st_dev
            inode = status.st_ino
        }
    }

    package let kind: Kind
    /// Not given to another file while this one is open, so it can be compared later.
    package let identity: Identity
    private let path: LogFilePath
    private let descriptor: Int32

    private init(descriptor: Int32, kind: Kind, status: stat, path: LogFilePath) {
        self.descriptor = descriptor
        self.kind = kind
        self.identity = Identity(status)
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// Opens the file, and makes it and its folders when they are missing.
    ///
    /// - `O_NOFOLLOW`: a symbolic link is refused. Rotation renames the name, and renaming a link would leave the file
    ///   behind it growing; and whoever can write the folder could point the link at any file of this user's.
    /// - `O_NONBLOCK`: a FIFO without reader is an error (`ENXIO`) instead of waiting for one, and a full FIFO or a
    ///   stopped terminal takes nothing instead of blocking. Without effect on regular files.
    /// - `O_NOCTTY`: a terminal does not become the one that controls the process.
    /// - Regular files are opened for reading too, to look at their last byte; FIFOs are not: one that is opened for
    ///   both is its own reader and never fails (fifo(7)).
    package static func open(_ path: LogFilePath) throws(LogFileError) -> AppendFile {
        // Each attempt fails only because somebody renames, removes or makes the file between two calls.
        for _ in 0..<100 {
            var before = stat()
            if lstat(path.description, &before) == 0 {
                let kind = try kind(of: before, path: path)
                guard let file = try open(path, kind: kind, flags: kind == .regular ? O_RDWR : O_WRONLY) else {
                    continue
                }
                return file
            }
            guard errno == ENOENT else { throw .system(path: path.description, operation: "open it", code: errno) }
            if let file = try open(path, kind: .regular, flags: O_RDWR | O_CREAT | O_EXCL) {
                // The mode given to open(2) is subject to the umask, which can take the owner's own bits away.
                fchmod(file.descriptor, 0o600)
                return file
            }
        }
        throw .system(path: path.description, operation: "open it, it is replaced again and again", code: EAGAIN)
    }

    /// Opens it; `nil` when it is not, or no longer, what it was taken for.
    private static func open(_ path: LogFilePath, kind: Kind, flags: Int32) throws(LogFileError) -> AppendFile? {
        let common = O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
        let descriptor = Foundation.open(path.description, flags | common, 0o600)
        guard descriptor >= 0 else {
            switch errno {
            case ENXIO: throw .fifoWithoutReader(path: path.description)
            case EEXIST, EISDIR: return nil
            case ENOENT:
                if flags & O_CREAT != 0 { try path.makeFolders() }
                return nil
            case let code: throw .system(path: path.description, operation: "open it", code: code)
            }
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw .system(path: path.description, operation: "open it", code: code)
        }
        let file = AppendFile(descriptor: descriptor, kind: kind, status: status, path: path)
        return try Self.kind(of: status, path: path) == kind ? file : nil
    }

    /// What kind of file it is, or why it cannot be a log.
    static func kind(of status: stat, path: LogFilePath) throws(LogFileError) -> Kind {
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .regular
        case S_IFIFO, S_IFCHR: return .stream
        case S_IFDIR: throw .isDirectory(path: path.description)
        case S_IFLNK: throw .isSymbolicLink(path: path.description)
        case S_IFSOCK: throw .unsupportedFileType(path: path.description, type: "socket")
        default: throw .unsupportedFileType(path: path.description, type: "block device")
        }
    }

    /// Whether the path still names this file: nobody has renamed, removed or replaced it.
    package var isAtItsPath: Bool {
        var status = stat()
        guard lstat(path.description, &status) == 0 else {
            // What cannot be looked up for another reason (`EACCES`, `EIO`) may well be there, and is open.
            return errno != ENOENT && errno != ENOTDIR
        }
        return Identity(status) == identity
    }

    /// Whether nothing is at the path and the file has another name: it was renamed, and nothing was put in its place yet.
    package var isRenamedAway: Bool {
        var status = stat()
        guard lstat(path.description, &status) != 0, errno == ENOENT else { return false }
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }

    /// The size by now, whoever wrote or truncated it.
    package var size: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Whether the file is at the beginning of a line.
    package func endsWithNewline(size: Int64) -> Bool {
        var byte: UInt8 = 0
        return size == 0 || pread(descriptor, &byte, 1, off_t(size - 1)) != 1 || byte == UInt8(ascii: "\n")
    }

    /// Keeps the other processes that write this log out of the file until ``unlock()``.
    ///
    /// Waits no longer than `patience`: whoever holds the lock may be stopped in a debugger. Returns whether to go on.
    package func lock(patience: Duration) -> Bool {
        let deadline = ContinuousClock.now + patience
        var pause: UInt32 = 50
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK:
                guard ContinuousClock.now < deadline else { return false }
                usleep(pause)
                pause = min(pause * 2, 2000)
            default:
                // Some network and FUSE file systems have no locks. A line is one appending write there too.
                return true
            }
        }
        return true
    }

    package func unlock() {
        flock(descriptor, LOCK_UN)
    }

    /// One `write(2)`. Returns how many of the bytes were written, or an `errno`.
    package func write(_ bytes: ArraySlice<UInt8>) -> Result<Int, WriteFailure> {
        let (count, code) = shieldedFromSignals {
            bytes.withUnsafeBytes { bytes in
                while true {
                    let count = Foundation.write(descriptor, bytes.baseAddress, bytes.count)
                    let code = errno
                    if count >= 0 || code != EINTR { return (count, code) }
                }
            }
        }
        return count >= 0 ? .success(count) : .failure(WriteFailure(code: code))
    }

    /// Takes back the last `count` bytes, which this descriptor has just written, if they are still the last of the
    /// file.
    ///
    /// Returns where the file ends now when that was not possible; `nil` when it was.
    package func takeBack(_ count: Int) -> Int64? {
        // With `O_APPEND` the offset is the end of what was written last, wherever the file ends by now.
        let end = Int64(lseek(descriptor, 0, SEEK_CUR))
        guard end >= count, size == end, ftruncate(descriptor, off_t(end - Int64(count))) == 0 else { return end }
        return nil
    }
}

/// Why `write(2)` failed.
package struct WriteFailure: Error, Sendable, Hashable {
    package var code: Int32
}
