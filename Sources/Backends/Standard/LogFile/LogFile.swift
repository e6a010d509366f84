import BackendConfiguration
import Foundation
import IndicatorCore

/// A log file that other processes may also write, rotate and remove.
///
/// Every line is one `write(2)` with `O_APPEND`: lines of several processes do not mix, and after a truncation by
/// another process (`logrotate` with `copytruncate`) the next line is at the beginning of the file. Two things need
/// more than that, so every write holds `flock(LOCK_EX)`, as all processes that use this type do: rotation, before
/// which the path is checked to still name the locked file, and the removal of a part of a line when the disk is full.
struct LogFile {
    let path: LogFilePath
    private let maxSize: Int64
    private let keep: Int
    private var file: OpenLogFile?

    /// Why the last rotation failed, or why there is none, and what to do; otherwise `nil`. A file that is not rotated
    /// grows: a large log is better than none.
    private(set) var rotationFailure: String?

    /// Makes a file without opening it.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - maxSize: the size in bytes at which the file is rotated; 0: never.
    ///   - keep: how many rotated files to keep.
    init(path: LogFilePath, maxSize: Int, keep: Int) {
        (self.path, self.maxSize, self.keep) = (path, Int64(maxSize), keep)
    }

    /// Opens the file, and creates it and its folders if they are missing.
    mutating func open() throws(Unavailability) { file = try OpenLogFile(path) }

    /// Throws the error that opening the file would throw, and makes nothing. Returns whether it can be rotated, or
    /// need not be.
    static func check(_ path: LogFilePath) throws(Unavailability) -> Bool {
        var status = stat()
        if path.standardStream != nil || lstat(path.description, &status) == 0 {
            return try !OpenLogFile(path).isRegular || access(path.folder, W_OK | X_OK) == 0
        }
        let code = errno
        try path.checkLinks()
        if code != ENOENT { throw path.failure("open it", code) }
        try path.checkFolder()
        return true
    }

    /// Writes a line, with its newline. If this throws, nothing of the line is in the file.
    mutating func append(_ line: [UInt8]) throws(Unavailability) {
        // Each round ends because another process, or this one, has replaced the file at the path.
        for _ in 0..<20 {
            if file == nil { try open() }
            guard let file else { break }
            guard file.isRegular else { return try file.write(line) }
            // Without the lock, lines are written, but not rotated or removed.
            let lockError = file.lock()
            let isLocked = lockError == 0
            defer { if isLocked { file.unlock() } }
            if maxSize > 0, !isLocked, lockError != EWOULDBLOCK {
                let help = "set 'maxSize: 0', and rotate it with another program"
                rotationFailure = "\(path.failure("lock it, so it is not rotated", lockError, help))"
            }
            guard file.isAtItsPath else {
                self.file = nil
                continue
            }
            let size = Int64(file.status.st_size)
            if isLocked, maxSize > 0, size > 0, size + Int64(line.count) > maxSize, rotate(file) { continue }
            let isBroken = isLocked && file.isBroken(at: size)
            return try file.write((isBroken ? [0x0A] : []) + line, sizeBefore: isLocked ? size : nil)
        }
        throw path.failure("open it because it is replaced repeatedly", EAGAIN)
    }

    /// Renames the full file, which becomes number 1, that becomes number 2, and so on, and makes a new one with the
    /// same group and mode, and the same owner if the process is root. Requires the lock.
    private mutating func rotate(_ file: OpenLogFile) -> Bool {
        let before = file.status
        do throws(Unavailability) {
            // Up to a free number: if the last rotation has failed after this, there is one, and no log is lost.
            let last = (1..<max(keep, 1)).first { access(path.rotated($0), F_OK) != 0 } ?? keep
            for number in stride(from: last - 1, to: 0, by: -1) {
                try rename(path.rotated(number), path.rotated(number + 1))
            }
            if keep > 0 {
                try rename(path.description, path.rotated(1))
            } else if unlink(path.description) != 0 {
                throw path.failure("remove it for rotation", errno)
            }
            rotationFailure = nil
            try open()
            self.file?.adopt(before)
        } catch {
            rotationFailure = "\(error); until then, the file grows"
        }
        return self.file !== file
    }

    private func rename(_ from: String, _ to: String) throws(Unavailability) {
        guard Foundation.rename(from, to) == 0 || from != path.description && errno == ENOENT else {
            throw path.failure("rename '\(from)' for rotation", errno)
        }
    }
}

/// The open file. Owns its descriptor.
private final class OpenLogFile {
    private let path: LogFilePath
    private let descriptor: CInt
    /// Whether it is locked, rotated, and truncated after a partial write; otherwise it is only written to.
    let isRegular: Bool
    /// The size after the last line of this process.
    private var end: Int64 = 0

    /// Opens the file, and creates it and its folders if they are missing.
    ///
    /// - `O_NOFOLLOW`: a symbolic link is refused. Rotation would rename the link while its target grows, and a user
    ///   who can write the folder could point the link at any of this user's files.
    /// - `O_NONBLOCK`: writing to a stopped terminal fails instead of blocking. No effect on regular files.
    /// - `O_NOCTTY`: a terminal does not become the controlling terminal of the process.
    init(_ path: LogFilePath) throws(Unavailability) {
        self.path = path
        if let original = path.standardStream {
            // Not by its path: that fails for a socket, and for a pipe of another user, which is common in containers.
            descriptor = fcntl(original, F_DUPFD_CLOEXEC, 3)
            guard descriptor >= 0 else { throw path.failure("use it because it is closed", EBADF) }
            isRegular = false
            return
        }
        try path.checkLinks()
        descriptor = try Self.open(path)
        var status = stat()
        fstat(descriptor, &status)
        isRegular = status.st_mode & S_IFMT == S_IFREG
        try path.check(status)
        // Another user may have made a link meanwhile: nothing has been written yet.
        try path.checkLinks()
    }

    deinit { close(descriptor) }

    private static func open(_ path: LogFilePath) throws(Unavailability) -> CInt {
        func open(_ mode: CInt) -> CInt {
            let flags = mode | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
            return StandardStreams.excluding(Foundation.open(path.description, flags, 0o600))
        }
        // For the last byte. One that may only be written is a log, too.
        var descriptor = open(O_RDWR)
        if descriptor < 0, errno == ENOENT {
            try path.makeFolders()
            descriptor = open(O_RDWR)
        }
        if descriptor < 0 { descriptor = open(O_WRONLY) }
        guard descriptor >= 0 else {
            let code = errno
            var status = stat()
            if lstat(path.description, &status) == 0 { try path.check(status) }
            throw path.failure("open it", code)
        }
        return descriptor
    }

    /// The current size, owner, group and mode, including changes by others.
    var status: stat {
        var status = stat()
        fstat(descriptor, &status)
        return status
    }

    /// Whether the path still names this file.
    var isAtItsPath: Bool {
        var named = stat()
        guard lstat(path.description, &named) == 0 else {
            // After another error (`EACCES`, `EIO`) the file may still be there, and it is open.
            return errno != ENOENT && errno != ENOTDIR
        }
        let own = status
        return named.st_dev == own.st_dev && named.st_ino == own.st_ino
    }

    /// Locks the file against the other processes that write this log, until ``unlock()``.
    ///
    /// - Returns: 0, or an error number: `EWOULDBLOCK` if another process holds the lock for longer than a fifth of a
    ///   second, since that may be stopped in a debugger; another one on a file system without locks.
    func lock() -> CInt {
        for _ in 0..<200 {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return 0 }
            guard errno == EWOULDBLOCK || errno == EINTR else { return errno }
            usleep(1000)
        }
        return EWOULDBLOCK
    }

    func unlock() { flock(descriptor, LOCK_UN) }

    /// Whether its last line is incomplete, of a program that was killed, or found the disk full.
    func isBroken(at size: Int64) -> Bool {
        var last: UInt8 = 0
        return size != end && pread(descriptor, &last, 1, off_t(size - 1)) == 1 && last != 0x0A
    }

    /// Gives the file the group and mode of another one, and its owner, which only root may do.
    func adopt(_ other: stat) {
        var mode = other.st_mode & 0o7777
        // In this order: changing the owner clears bits of the mode.
        if fchown(descriptor, other.st_uid, other.st_gid) != 0, fchown(descriptor, .max, other.st_gid) != 0 {
            // This user is not in the group: the mode must not apply to another one, which may do what all may.
            mode = mode & ~S_IRWXG | (mode & S_IRWXO) << 3
        }
        fchmod(descriptor, mode)
    }

    /// Writes a line, and removes a part of one again if the size before it is given.
    func write(_ line: [UInt8], sizeBefore: Int64? = nil) throws(Unavailability) {
        // A standard stream cannot be made non-blocking, because the app shares it. If it is writable, it accepts at
        // least `PIPE_BUF` bytes, and no line is longer.
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard isRegular || poll(&request, 1, 0) > 0 else { throw path.failure("write to it", EAGAIN) }
        let (count, code) = withSignalsBlocked {
            let (count, code) = (Foundation.write(descriptor, line, line.count), errno)
            if count < 0, code == EPIPE || code == EFBIG {
                // The kernel has also sent SIGPIPE or SIGXFSZ to this thread, which would end the process.
                var (raised, none) = (sigset_t(), timespec())
                sigemptyset(&raised)
                sigaddset(&raised, code == EPIPE ? SIGPIPE : SIGXFSZ)
                sigtimedwait(&raised, nil, &none)
            }
            return (count, code)
        }
        if count == line.count { return end = (sizeBefore ?? 0) + Int64(count) }
        if count > 0, let sizeBefore { ftruncate(descriptor, off_t(sizeBefore)) }
        throw path.failure("write to it", count < 0 ? code : ENOSPC)
    }
}
