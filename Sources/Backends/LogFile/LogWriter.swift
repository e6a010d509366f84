import Foundation

/// Writes lines to a log file that other processes write, rotate and truncate as well.
///
/// ### How a line stays whole
///
/// Every line is one `write(2)` with `O_APPEND`, so nobody's bytes come between those of a line, and after a truncation
/// from outside (`logrotate` with `copytruncate`) the next line is at the beginning, not behind a hole.
///
/// `O_APPEND` alone is not enough for two things, so each write is made under `flock(LOCK_EX)`, which everyone who
/// writes the log with this type takes:
///
/// - Rotation. Whoever gets the lock first makes sure that the path still names the locked file, and opens it again if
///   not. So a line never goes to a file that has been rotated away, and one full file is rotated once.
/// - A write that is cut short because the disk is full. The part is truncated away at once, before the lock is
///   released: the file ends with a whole line all the time that anyone else can see it. Completing the line later
///   would leave the half there for as long as the disk is full, perhaps for ever.
///
/// Should the part not go away (a file with the append-only attribute, a device, an append by somebody without the
/// lock), the rest of the line is written next if the part still ends the file, and the whole line once more on a line
/// of its own if not. A half line of a process that was killed in between is ended with a newline by whoever writes
/// next.
///
/// ### Who makes the new file
///
/// `logrotate` with `create` renames the file and then makes a new one; if it finds one made by somebody else in between, it moves that
/// aside as well, to a name that it may use again and lose what was there. So a file that was renamed away is written on for as long as
/// ``replacementGrace`` says, and only then is a new one made here. One that was removed is gone: its successor is made at once.
package struct LogWriter {
    /// A line that is partly in the file.
    private struct Unfinished {
        var line: [UInt8]
        var written: Int
        var identity: AppendFile.Identity
        /// Where the part ends; `nil` in a stream.
        var end: Int64?
    }

    package let path: LogFilePath
    private let maxSize: Int64
    private let rotation: LogRotation
    private let replacementGrace: Duration
    private var file: AppendFile?
    /// When the open file was first seen to have been renamed away.
    private var renamedAwaySince: ContinuousClock.Instant?
    private var unfinished: Unfinished?

    /// Why the file grows beyond its size; `nil` when it does not.
    package private(set) var rotationFailure: LogFileError?

    /// Makes a writer with nothing open.
    ///
    /// - Parameters:
    ///   - path: the path of the file.
    ///   - maxSize: how many bytes the file may have before it is rotated; 0: any number.
    ///   - keep: how many rotated files to keep.
    ///   - replacementGrace: how long a file that was renamed away is written on while nothing is in its place.
    package init(path: LogFilePath, maxSize: Int, keep: Int, replacementGrace: Duration = .seconds(1)) {
        self.path = path
        self.replacementGrace = replacementGrace
        self.maxSize = Int64(maxSize)
        rotation = LogRotation(keep: keep)
    }

    /// Whether a line is partly written.
    package var hasUnfinishedLine: Bool { unfinished != nil }

    /// Opens the file, unless it is open.
    package mutating func open() throws(LogFileError) {
        if file == nil { file = try AppendFile.open(path) }
    }

    /// Closes the file, and gives up a line that is partly written.
    package mutating func close() {
        file = nil
        unfinished = nil
    }

    /// Writes a line. When this throws, nothing of the line is in the file.
    ///
    /// When it does not, the line is in the file, or a part of it is that would not go away: ``hasUnfinishedLine``.
    /// Then the next call writes the rest first.
    ///
    /// - Parameters:
    ///   - line: the line, newline included.
    ///   - patience: how long to wait for others that write the file.
    package mutating func append(_ line: [UInt8], patience: Duration) throws(LogWriteFailure) {
        try finish(patience: patience)
        try put(line, patience: patience)
    }

    /// Writes what is left of a line that is partly written.
    package mutating func finish(patience: Duration) throws(LogWriteFailure) {
        guard let unfinished else { return }
        try put(unfinished.line, patience: patience)
        if hasUnfinishedLine { throw .waiting(reason: Self.shortWrite) }
    }

    private mutating func put(_ line: [UInt8], patience: Duration) throws(LogWriteFailure) {
        // Each round ends because somebody else, or this writer, has put another file in the path's place.
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
                return try write(line, to: file, size: nil)
            }
            guard file.lock(patience: patience) else {
                throw .waiting(reason: "another process keeps it locked")
            }
            defer { file.unlock() }
            guard file.isAtItsPath || isToBeReplaced(file) else {
                self.file = nil
                renamedAwaySince = nil
                continue
            }
            let size = file.size
            if unfinished == nil, maxSize > 0, size > 0, size + Int64(line.count) > maxSize, renamedAwaySince == nil,
                rotate()
            {
                continue
            }
            return try write(line, to: file, size: size)
        }
        throw .waiting(reason: "it is replaced again and again")
    }

    /// Whether somebody has renamed the file and may be about to put another in its place.
    private mutating func isToBeReplaced(_ file: AppendFile) -> Bool {
        guard replacementGrace > .zero, file.isRenamedAway else { return false }
        let now = ContinuousClock.now
        let since = renamedAwaySince ?? now
        renamedAwaySince = since
        return now < since + replacementGrace
    }

    /// Returns whether the file was rotated away. When it cannot be, it grows: a log that is too long beats none.
    private mutating func rotate() -> Bool {
        do throws(LogFileError) {
            try rotation.rotate(path)
        } catch {
            rotationFailure = error
            return false
        }
        rotationFailure = nil
        // The new file is there before the lock of the old one is released, so that nobody takes the old one for merely renamed.
        file = nil
        try? open()
        return true
    }

    /// - Parameter size: the size of a regular file; `nil` of a stream.
    private mutating func write(_ line: [UInt8], to file: AppendFile, size: Int64?) throws(LogWriteFailure) {
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
            let end = size == nil ? nil : file.takeBack(count)
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
package enum LogWriteFailure: Error, Sendable, Hashable {
    /// There is no space, or the like: it may succeed later.
    case waiting(reason: String)
    /// There can be no log at this path until somebody changes something.
    case refused(LogFileError)

    /// Why, as text.
    package var reason: String {
        switch self {
        case .waiting(let reason): reason
        case .refused(let error): error.problem
        }
    }
}
