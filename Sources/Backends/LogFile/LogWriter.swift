import Foundation

/// Writes lines to a log file that other processes write, rotate and truncate as well.
///
/// ### How a line stays whole
///
/// Every line is one `write(2)` with `O_APPEND`, so no other bytes come between those of a line, and after a truncation
/// from outside (`logrotate` with `copytruncate`) the next line is at the beginning, not behind a hole.
///
/// `O_APPEND` alone is not enough for two things, so each write is made under `flock(LOCK_EX)`, which every process
/// that writes the log with this type takes:
///
/// - Rotation. The process that gets the lock first makes sure that the path still names the locked file, and opens it
///   again if not. So a line never goes to a file that has been rotated away, and one full file is rotated once.
/// - A write that is cut short because the disk is full. The part is truncated away at once, before the lock is
///   released: the file ends with a whole line all the time that another process can see it. Completing the line later
///   would leave the half there for as long as the disk is full, perhaps for ever.
///
/// Should the part not go away (a file with the append-only attribute, a device, an append by a process without the
/// lock), the rest of the line is written next if the part still ends the file, and the whole line once more on a line
/// of its own if not. A half line of a process that was killed in between is ended with a newline by the process
/// that writes next.
///
/// ### Who makes the new file
///
/// `logrotate` with `create` renames the file and then makes a new one; if it finds one made by another process in
/// between, it moves that aside as well, to a name that it may use again and lose what was there. So a file that was
/// renamed away is written on for as long as ``replacementGrace`` says, and only then is a new one made here. One that
/// was removed is gone: its successor is made at once.
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
    /// When the open file was first seen to have been renamed away.
    private var renamedAwaySince: ContinuousClock.Instant?
    private var unfinished: Unfinished?
    /// Whether the last attempt to lock the file found that another process holds the lock.
    private var isLockHeldByOther = false

    /// What is wrong with the rotation, and what to do; `nil` when nothing is.
    private(set) var rotationFailure: String?

    /// Makes a writer with nothing open.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - maxSize: how many bytes the file may have before it is rotated; 0: any number.
    ///   - keep: how many rotated files to keep.
    ///   - replacementGrace: how long a file that was renamed away is written on while nothing is in its place.
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

    /// Closes the file, and gives up a line that is partly written.
    mutating func close() {
        release()
        unfinished = nil
    }

    /// Closes the file, and keeps a line that is partly written for the next time it is open.
    mutating func release() {
        file = nil
    }

    /// Writes a line. When this throws, nothing of the line is in the file.
    ///
    /// When it does not, the line is in the file, or a part of it is that would not go away: ``hasUnfinishedLine``.
    /// Then the next call writes the rest first.
    ///
    /// - Parameters:
    ///   - line: the line, newline included.
    ///   - timeLimit: how long to wait for others that write the file.
    mutating func append(_ line: [UInt8], timeLimit: Duration) throws(LogWriteFailure) {
        try finish(timeLimit: timeLimit)
        try put(line, timeLimit: timeLimit)
    }

    /// Writes what is left of a line that is partly written.
    mutating func finish(timeLimit: Duration) throws(LogWriteFailure) {
        guard let unfinished else { return }
        try put(unfinished.line, timeLimit: timeLimit)
        if hasUnfinishedLine { throw .waiting(reason: Self.shortWrite) }
    }

    private mutating func put(_ line: [UInt8], timeLimit: Duration) throws(LogWriteFailure) {
        // Each round ends because another process, or this writer, has put another file in the path's place.
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
            // Without the lock the line is written all the same, and the rest is left to those who have it. They are
            // waited for once, not at each line.
            let isLocked = file.lock(timeLimit: isLockHeldByOther ? .zero : timeLimit)
            isLockHeldByOther = !isLocked
            defer { if isLocked { file.unlock() } }
            guard file.isAtItsPath || isToBeReplaced(file) else {
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
        throw .waiting(reason: "it is replaced again and again")
    }

    /// Whether another process has renamed the file and may be about to put another in its place.
    private mutating func isToBeReplaced(_ file: AppendFile) -> Bool {
        guard replacementGrace > .zero, file.isRenamedAway else { return false }
        let now = ContinuousClock.now
        let since = renamedAwaySince ?? now
        renamedAwaySince = since
        return now < since + replacementGrace
    }

    /// Returns whether the file was rotated away. When it cannot be, it grows: a log that is too long beats none.
    private mutating func rotate(_ file: AppendFile) -> Bool {
        let obstacles: [String]
        do throws(LogFileError) {
            obstacles = try rotation.rotate(path, like: file.status)
        } catch {
            rotationFailure = "\(error); until then it grows"
            return false
        }
        rotationFailure = obstacles.first.map {
            "log file '\(path)': '\($0)' is in the way of its rotation and is left out; remove it"
        }
        // The new file is there before the lock of the old one is released, so that no
        // process takes the old one for merely renamed.
        self.file = nil
        try? open()
        return true
    }

    /// - Parameter size: the size of a regular file; `nil` of a stream.
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
            let end = size == nil ? nil : file.takeBack(count, isLocked: isLocked)
            // Taken back: the line is to be written again, or what was left of it before.
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
            // A FIFO whose reader is gone is to be opened anew once there is another.
            if failure.code == EPIPE { self.file = nil }
            throw .waiting(reason: String(cString: strerror(failure.code)))
        }
    }

    private static let shortWrite = "there is no space for a whole line"
}

/// Why a line was not written.
enum LogWriteFailure: Error, Sendable, Hashable {
    /// There is no space, or the like: it may succeed later.
    case waiting(reason: String)
    /// There can be no log at this path until something is changed.
    case refused(LogFileError)

    /// Why, as text.
    var reason: String {
        switch self {
        case .waiting(let reason): reason
        case .refused(let error): error.problem
        }
    }
}

/// Moves a full log file out of the way: `indicator.log` becomes `indicator.log.1`, that becomes `indicator.log.2`, and
/// the last of those to keep is replaced.
///
/// Only for the process that holds the lock on the file at `path`. The last step puts an empty file in the full one's
/// place atomically: there is a file at the path all the time, so no process takes the full one for one that is being
/// moved.
struct LogRotation: Sendable, Hashable {
    /// How many old files to keep.
    var keep: Int

    init(keep: Int) {
        self.keep = keep
    }

    /// Puts an empty file in the place of the full one; with nothing to keep, frees the path. When that is not
    /// possible, everything stays in place, apart from a gap in the numbers.
    ///
    /// Only files of the log's owner are moved. Anything else at one of the numbers, such as a folder, is left out.
    ///
    /// - Parameters:
    ///   - path: the path of the full file.
    ///   - status: the owner, group and mode of the full file, which the new one gets.
    /// - Returns: the paths that were left out.
    func rotate(_ path: LogFilePath, like status: stat) throws(LogFileError) -> [String] {
        guard keep > 0 else {
            guard unlink(path.description) == 0 else { throw failure(path, "remove it") }
            return []
        }
        // Only up to the first gap: with `keep` of 1000 and two old files, that is two renames. A gap that was left
        // behind by a process that died in the middle is filled, and no file is lost by it.
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
        // A name that no other user can put in the way.
        let successor = "\(path).new-\(UInt64.random(in: 0 ... .max))"
        let descriptor = open(successor, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path, "make its successor") }
        defer { close(descriptor) }
        // In this order: a change of the owner clears bits of the mode, and the mode must not be for a wrong group.
        guard fchown(descriptor, status.st_uid, status.st_gid) == 0,
            fchmod(descriptor, status.st_mode & 0o7777) == 0
        else {
            let error = failure(path, "give its successor the same owner and group")
            unlink(successor)
            throw error
        }
        unlink(old)
        guard link(path.description, old) == 0 else {
            // A file system without hard links: the path is free for a moment.
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
