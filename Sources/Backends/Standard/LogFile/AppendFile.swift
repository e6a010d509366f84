import BackendConfiguration
import DisplayText
import Foundation

/// An open log file. Owns its file descriptor.
final class AppendFile {
    /// What kind of file it is.
    enum Kind: Sendable, Hashable {
        /// A regular file: locked while it is written, rotated, and truncated after a partial write.
        case regular
        /// A FIFO or a character device: only written to.
        case stream
        /// Standard output or standard error, of whatever type: only written to, and shared with the app.
        case standardStream
    }

    /// The identity of a file, independent of its name.
    struct Identity: Sendable, Hashable {
        fileprivate var device: dev_t
        fileprivate var inode: ino_t

        fileprivate init(_ status: stat) {
            device = status.st_dev
            inode = status.st_ino
        }
    }

    let kind: Kind
    /// Its owner, group and mode, which its successor gets at rotation.
    let status: stat
    /// No other file can get it while this one is open, so it can be compared later.
    let identity: Identity
    private let path: LogFilePath
    private let descriptor: Int32

    private init(descriptor: Int32, kind: Kind, status: stat, path: LogFilePath) {
        self.descriptor = descriptor
        self.kind = kind
        self.status = status
        self.identity = Identity(status)
        self.path = path
    }

    deinit {
        close(descriptor)
    }

    /// Opens the file, and creates it and its folders if they are missing.
    ///
    /// - `O_NOFOLLOW`: a symbolic link is refused. Rotation would rename the link while its target grows, and a user
    ///   who can write the folder could point the link at any of this user's files.
    /// - `O_NONBLOCK`: a FIFO without a reader is an error (`ENXIO`), and writing to a full FIFO or a stopped terminal
    ///   fails instead of blocking. No effect on regular files.
    /// - `O_NOCTTY`: a terminal does not become the controlling terminal of the process.
    /// - Regular files are also opened for reading, to check their last byte. FIFOs are not: one opened for both is its
    ///   own reader, so opening never fails (fifo(7)).
    ///
    /// In a folder that other users can write, files that they may have put there are refused: see ``check(_:path:)``.
    static func open(_ path: LogFilePath) throws(LogFileError) -> AppendFile {
        if let descriptor = path.standardStream { return try openStandardStream(descriptor, path: path) }
        try checkLinks(path)
        let file = try openFile(path)
        // Another user may have made a link meanwhile: nothing has been written yet.
        try checkLinks(path)
        return file
    }

    /// Throws if a folder of the path is a symbolic link that another user has made: the log would be where that user
    /// wants it.
    private static func checkLinks(_ path: LogFilePath) throws(LogFileError) {
        for (folder, names) in WatchPoints(path: path.description).namesByFolder {
            for name in names {
                let link = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
                var status = stat()
                guard lstat(link, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, !isTrusted(status.st_uid)
                else { continue }
                throw .linkOfOther(path: path.description, link: link, user: status.st_uid)
            }
        }
    }

    private static func openFile(_ path: LogFilePath) throws(LogFileError) -> AppendFile {
        // An attempt fails only if another process renames, removes or creates the file between two calls.
        for attempt in 0..<100 {
            var before = stat()
            if lstat(path.description, &before) == 0 {
                let kind = try kind(of: before, path: path)
                guard let file = try open(path, kind: kind, flags: kind == .regular ? O_RDWR : O_WRONLY) else {
                    continue
                }
                do throws(LogFileError) {
                    try check(file.status, path: path)
                    return file
                } catch .hasOtherNames where attempt < 20 {
                    // Another process may be rotating: the file then briefly has two names.
                    usleep(500)
                    continue
                }
            }
            guard errno == ENOENT else { throw .system(path: path.description, operation: "open it", code: errno) }
            if let file = try open(path, kind: .regular, flags: O_RDWR | O_CREAT | O_EXCL) {
                // The mode given to open(2) is subject to the umask, which can clear the owner's bits.
                fchmod(file.descriptor, 0o600)
                return file
            }
        }
        throw .system(path: path.description, operation: "open it because it is replaced repeatedly", code: EAGAIN)
    }

    /// Opens the file; `nil` if it is missing, or not (or no longer) of this kind.
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

    /// Opens a standard stream as a duplicate of the app's descriptor.
    ///
    /// Not by its path: that fails for a socket, and for a pipe of another user, which is common in containers.
    private static func openStandardStream(_ original: Int32, path: LogFilePath) throws(LogFileError) -> AppendFile {
        let descriptor = fcntl(original, F_DUPFD_CLOEXEC, 3)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw .system(path: path.description, operation: "use it because it is closed", code: EBADF)
        }
        return AppendFile(descriptor: descriptor, kind: .standardStream, status: status, path: path)
    }

    /// Throws if another user may have put the file there, to read what is written or to redirect it to another file.
    ///
    /// A folder that only this user and root can write is trusted. In any other folder the file must belong to this
    /// user or root, and have no second name: it could be a hard link to any of this user's files.
    static func check(_ status: stat, path: LogFilePath) throws(LogFileError) {
        var folder = stat()
        let isPrivate =
            stat(path.folder, &folder) == 0 && isTrusted(folder.st_uid) && folder.st_mode & (S_IWGRP | S_IWOTH) == 0
        if isPrivate { return }
        guard isTrusted(status.st_uid) else { throw .ownedByOther(path: path.description, user: status.st_uid) }
        // Device files are created by root.
        if status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1 { throw .hasOtherNames(path: path.description) }
    }

    private static func isTrusted(_ user: uid_t) -> Bool { user == geteuid() || user == 0 }

    /// The kind of a file; throws if it cannot be a log.
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

    /// Whether the path still names this file.
    var isAtItsPath: Bool {
        if kind == .standardStream { return true }
        var status = stat()
        guard lstat(path.description, &status) == 0 else {
            // After another error (`EACCES`, `EIO`) the file may still be there, and it is open.
            return errno != ENOENT && errno != ENOTDIR
        }
        return Identity(status) == identity
    }

    /// Whether the file was renamed and its path is free.
    var isRenamedAway: Bool {
        var status = stat()
        guard lstat(path.description, &status) != 0, errno == ENOENT else { return false }
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }

    /// The current size, including changes by other processes.
    var size: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    /// Whether the file is empty or ends with a newline.
    func endsWithNewline(size: Int64) -> Bool {
        var byte: UInt8 = 0
        return size == 0 || pread(descriptor, &byte, 1, off_t(size - 1)) != 1 || byte == UInt8(ascii: "\n")
    }

    /// Locks the file against the other processes that write this log, until ``unlock()``.
    ///
    /// Waits no longer than the limit: the process with the lock may be stopped in a debugger, and any process that can
    /// read the file can hold it indefinitely. Returns whether the file is locked.
    func lock(timeLimit: Duration) -> Bool {
        let deadline = ContinuousClock.now + timeLimit
        var pause: UInt32 = 50
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            switch errno {
            case EINTR: continue
            case EWOULDBLOCK:
                guard ContinuousClock.now < deadline else { return false }
                usleep(pause)
                pause = min(pause * 2, 2000)
            default:
                // Some network and FUSE file systems have no locks. Appending writes still keep lines whole.
                return true
            }
        }
        return true
    }

    func unlock() {
        flock(descriptor, LOCK_UN)
    }

    /// Writes with one `write(2)`. Returns the number of bytes written, or an `errno`.
    func write(_ bytes: ArraySlice<UInt8>) -> Result<Int, WriteFailure> {
        // A standard stream cannot be made non-blocking, because the app shares it. If it is writable, it accepts at
        // least `PIPE_BUF` bytes, and no line is longer.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        if kind == .standardStream, poll(&request, 1, 0) == 0 { return .failure(WriteFailure(code: EAGAIN)) }
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

    /// Truncates the `count` bytes that this descriptor wrote last, if they are still at the end of the file.
    ///
    /// Returns `nil` on success, otherwise the end of the written bytes. Requires the lock: without it, another process
    /// could append in between.
    func truncateLast(_ count: Int, isLocked: Bool) -> Int64? {
        // With `O_APPEND` the offset is the end of this descriptor's last write, not of the file.
        let end = Int64(lseek(descriptor, 0, SEEK_CUR))
        guard isLocked, end >= count, size == end, ftruncate(descriptor, off_t(end - Int64(count))) == 0 else {
            return end
        }
        return nil
    }
}

/// Why `write(2)` failed.
struct WriteFailure: Error, Sendable, Hashable {
    var code: Int32
}

/// Runs `body` without the signals that a write can raise and that end or stop the process. `errno` has the error.
///
/// - `SIGPIPE`: a FIFO has no reader any more (`EPIPE`).
/// - `SIGXFSZ`: the file would exceed the limit of the process, `ulimit -f` (`EFBIG`).
/// - `SIGTTOU`: the path is a terminal and the process is in its background. While it is blocked, the write succeeds
///   (tty_ioctl(4)).
///
/// The kernel sends all three to the thread that writes. So they are blocked on this thread only, and a raised one is
/// consumed before they are unblocked. The app's signal handlers are not changed, and a signal that was already pending
/// stays pending.
func shieldedFromSignals<Value>(_ body: () -> Value) -> Value {
    var shielded = sigset_t()
    sigemptyset(&shielded)
    for signal in [SIGPIPE, SIGXFSZ, SIGTTOU] { sigaddset(&shielded, signal) }
    var before = sigset_t()
    var pendingBefore = sigset_t()
    pthread_sigmask(SIG_BLOCK, &shielded, &before)
    sigpending(&pendingBefore)

    let value = body()

    let code = errno
    var raised = sigset_t()
    sigemptyset(&raised)
    for signal in [SIGPIPE, SIGXFSZ] where sigismember(&pendingBefore, signal) == 0 { sigaddset(&raised, signal) }
    var noTime = timespec()
    while sigtimedwait(&raised, nil, &noTime) > 0 {}
    pthread_sigmask(SIG_SETMASK, &before, nil)
    errno = code
    return value
}
