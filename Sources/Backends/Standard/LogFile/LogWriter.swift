import BackendConfiguration
import DisplayText
import Foundation

/// Writes lines to a log file that other processes may also write, rotate and truncate.
///
/// ### Complete lines
///
/// Every line is one `write(2)` with `O_APPEND`: lines of several processes do not mix, and after a truncation by
/// another process (`logrotate` with `copytruncate`) the next line is at the beginning of the file, not after a hole.
///
/// Two things need more than `O_APPEND`, so every write holds `flock(LOCK_EX)`, as all processes that use this type do:
///
/// - Rotation. A process that gets the lock checks that the path still names the locked file, and otherwise opens it
///   again. So no line goes to a rotated file, and a full file is rotated only once.
/// - A partial write because the disk is full. The part is truncated before the lock is released, so other processes
///   always see complete lines. Completing the line later would leave the part in the file for as long as the disk is
///   full.
///
/// If the part cannot be truncated (a file with the append-only attribute, a device, an append by a process without the
/// lock), the rest of the line is written next if the part is still at the end of the file; otherwise the whole line is
/// written again. If a process was killed after a partial write, the next writer ends its line with a newline.
///
/// ### The file after `logrotate`
///
/// `logrotate` with `create` renames the file and then creates a new one. If another process has created one in
/// between, it is moved aside too, to a name that may be reused, which loses its contents. So a renamed file is still
/// written for ``replacementGrace`` before a new one is created here. After a removal, a new one is created
/// immediately.
struct LogWriter {
    /// A line that is partly in the file.
    private struct Unfinished {
        var line: [UInt8]
        var written: Int
        var identity: AppendFile.Identity
        /// Where the part ends; `nil` in a stream.
        var end: Int64?
    }

    let path: LogFilePath
    private let maxSize: Int64
    private let rotation: LogRotation
    private let replacementGrace: Duration
    private var file: AppendFile?
    /// When the open file was first found to have been renamed.
    private var renamedAwaySince: ContinuousClock.Instant?
    private var unfinished: Unfinished?
    /// Whether the last attempt to lock the file found that another process holds the lock.
    private var isLockHeldByOther = false

    /// Why the rotation failed, and what to do; `nil` if it did not.
    private(set) var rotationFailure: String?

    /// Makes a writer without opening the file.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - maxSize: the size in bytes at which the file is rotated; 0: never.
    ///   - keep: how many rotated files to keep.
    ///   - replacementGrace: how long a renamed file is still written while its path is free.
    init(path: LogFilePath, maxSize: Int, keep: Int, replacementGrace: Duration = .seconds(1)) {
        self.path = path
        self.replacementGrace = replacementGrace
        self.maxSize = Int64(maxSize)
        rotation = LogRotation(keep: keep)
    }

    /// Whether a line is partly written.
    var hasUnfinishedLine: Bool { unfinished != nil }

    /// Opens the file, unless it is open.
    mutating func open() throws(LogFileError) {
        if file == nil { file = try AppendFile.open(path) }
    }

    /// Closes the file, and discards a partly written line.
    mutating func close() {
        release()
        unfinished = nil
    }

    /// Closes the file, and keeps a partly written line until the file is opened again.
    mutating func release() {
        file = nil
    }

    /// Writes a line. If this throws, nothing of the line is in the file.
    ///
    /// Otherwise the line is in the file, or a part of it that could not be truncated (``hasUnfinishedLine``): then the
    /// next call writes the rest first.
    ///
    /// - Parameters:
    ///   - line: the line, newline included.
    ///   - timeLimit: how long to wait for other processes that write the file.
    mutating func append(_ line: [UInt8], timeLimit: Duration) throws(LogWriteFailure) {
        try finish(timeLimit: timeLimit)
        try put(line, timeLimit: timeLimit)
    }

    /// Writes the rest of a partly written line.
    mutating func finish(timeLimit: Duration) throws(LogWriteFailure) {
        guard let unfinished else { return }
        try put(unfinished.line, timeLimit: timeLimit)
        if hasUnfinishedLine { throw .waiting(reason: Self.shortWrite) }
    }

    private mutating func put(_ line: [UInt8], timeLimit: Duration) throws(LogWriteFailure) {
        // Each iteration ends because another process, or this writer, has replaced the file at the path.
        for _ in 0..<100 {
            do throws(LogFileError) { try open() } catch {
                throw error.isTemporary ? .waiting(reason: error.problem) : .refused(error)
            }
            guard let file else { break }
            if file.isAtItsPath { renamedAwaySince = nil }
            guard file.kind == .regular else {
                guard file.isAtItsPath else {
                    self.file = nil
                    continue
                }
                return try write(line, to: file, size: nil, isLocked: false)
            }
            // Without the lock, lines are written but not rotated or truncated. Only the first line waits for the lock.
            let isLocked = file.lock(timeLimit: isLockHeldByOther ? .zero : timeLimit)
            isLockHeldByOther = !isLocked
            defer { if isLocked { file.unlock() } }
            guard file.isAtItsPath || beginGraceIfRenamed(file) else {
                self.file = nil
                renamedAwaySince = nil
                continue
            }
            let size = file.size
            if isLocked, unfinished == nil, maxSize > 0, size > 0, size + Int64(line.count) > maxSize,
                renamedAwaySince == nil, rotate(file)
            {
                continue
            }
            return try write(line, to: file, size: size, isLocked: isLocked)
        }
        throw .waiting(reason: "it is replaced repeatedly")
    }

    /// Returns whether another process has renamed the file and may be about to replace it.
    private mutating func beginGraceIfRenamed(_ file: AppendFile) -> Bool {
        guard replacementGrace > .zero, file.isRenamedAway else { return false }
        let now = ContinuousClock.now
        let since = renamedAwaySince ?? now
        renamedAwaySince = since
        return now < since + replacementGrace
    }

    /// Returns whether the file was rotated. If rotation fails, the file grows: a large log is better than none.
    private mutating func rotate(_ file: AppendFile) -> Bool {
        let obstacles: [String]
        do throws(LogFileError) {
            obstacles = try rotation.rotate(path, like: file.status)
        } catch {
            rotationFailure = "\(error); until then the file is not rotated"
            return false
        }
        rotationFailure = obstacles.first.map {
            "log file '\(path)': '\($0)' blocks its rotation and is skipped; remove it"
        }
        // Opened before the lock on the old file is released, so that other processes do not treat that one as renamed.
        self.file = nil
        try? open()
        return true
    }

    /// - Parameter size: the size of a regular file; `nil` for a stream.
    private mutating func write(
        _ line: [UInt8],
        to file: AppendFile,
        size: Int64?,
        isLocked: Bool
    ) throws(LogWriteFailure) {
        var bytes = line[...]
        if let unfinished, unfinished.identity == file.identity, unfinished.end == size {
            bytes = bytes.dropFirst(unfinished.written)
        } else if let size, !file.endsWithNewline(size: size) {
            bytes = ([UInt8(ascii: "\n")] + line)[...]
        }
        switch file.write(bytes) {
        case .success(bytes.count):
            unfinished = nil
        case .success(let count) where count > 0:
            let end = size == nil ? nil : file.truncateLast(count, isLocked: isLocked)
            // Truncated: the line, or the rest of it, must be written again.
            if size != nil, end == nil { throw .waiting(reason: Self.shortWrite) }
            unfinished = Unfinished(
                line: line,
                written: line.count - bytes.count + count,
                identity: file.identity,
                end: end
            )
        case .success:
            throw .waiting(reason: Self.shortWrite)
        case .failure(let failure):
            // A FIFO without reader is opened again when it has another one.
            if failure.code == EPIPE { self.file = nil }
            throw .waiting(reason: String(cString: strerror(failure.code)))
        }
    }

    private static let shortWrite = "there is no space for a whole line"
}

/// Why a line was not written.
enum LogWriteFailure: Error, Sendable, Hashable {
    /// A temporary failure, such as a full disk.
    case waiting(reason: String)
    /// A log at this path is not possible until something is changed.
    case refused(LogFileError)

    /// The reason, as text.
    var reason: String {
        switch self {
        case .waiting(let reason): reason
        case .refused(let error): error.problem
        }
    }
}

/// Rotates a full log file: `indicator.log` becomes `indicator.log.1`, that becomes `indicator.log.2`, and the oldest
/// one to keep is replaced.
///
/// Only for the process that holds the lock on the file at `path`. The last step replaces the full file atomically with
/// an empty one: there is always a file at the path, so no process treats the full one as renamed.
struct LogRotation: Sendable, Hashable {
    /// How many old files to keep.
    var keep: Int

    init(keep: Int) {
        self.keep = keep
    }

    /// Replaces the full file with an empty one; if `keep` is 0, removes it. If that fails, all files remain, possibly
    /// with a gap in the numbers.
    ///
    /// Only files of the log's owner are renamed. Anything else with one of the names, such as a folder, is skipped.
    ///
    /// - Parameters:
    ///   - path: the path of the full file.
    ///   - status: the owner, group and mode of the full file, which the new one gets.
    /// - Returns: the paths that were skipped.
    func rotate(_ path: LogFilePath, like status: stat) throws(LogFileError) -> [String] {
        guard keep > 0 else {
            guard unlink(path.description) == 0 else { throw failure(path, "remove it") }
            return []
        }
        // Only up to the first gap: with a `keep` of 1000 and two old files, that is two renames. A gap left by a
        // process that died during rotation is filled, and no file is lost.
        var places: [String] = []
        var obstacles: [String] = []
        for number in 1...keep + 100 where places.count < keep {
            let place = path.rotated(number)
            var present = stat()
            let isFree = lstat(place, &present) != 0
            if isFree || (present.st_mode & S_IFMT == S_IFREG && present.st_uid == status.st_uid) {
                places.append(place)
            } else {
                obstacles.append(place)
            }
            if isFree { break }
        }
        guard let first = places.first else { throw .isDirectory(path: path.rotated(1)) }
        for (from, to) in zip(places, places.dropFirst()).reversed() {
            guard rename(from, to) == 0 || errno == ENOENT else { throw failure(path, "rename '\(from)'") }
        }
        try replace(path, first, like: status)
        return obstacles
    }

    private func replace(_ path: LogFilePath, _ old: String, like status: stat) throws(LogFileError) {
        // Another user cannot predict and block this name.
        let successor = "\(path).new-\(UInt64.random(in: 0 ... .max))"
        let descriptor = open(successor, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path, "create its successor") }
        defer { close(descriptor) }
        // In this order: changing the owner clears bits of the mode, and the mode must not apply to the wrong group.
        guard fchown(descriptor, status.st_uid, status.st_gid) == 0,
            fchmod(descriptor, status.st_mode & 0o7777) == 0
        else {
            let error = failure(path, "give its successor the same owner and group")
            unlink(successor)
            throw error
        }
        unlink(old)
        guard link(path.description, old) == 0 else {
            // A file system without hard links: the path is briefly free.
            unlink(successor)
            guard rename(path.description, old) == 0 else { throw failure(path, "rename it") }
            return
        }
        guard rename(successor, path.description) == 0 else {
            let error = failure(path, "put its successor in its place")
            unlink(old)
            unlink(successor)
            throw error
        }
    }

    private func failure(_ path: LogFilePath, _ operation: String) -> LogFileError {
        .system(path: path.description, operation: operation + " for rotation", code: errno)
    }
}
