import Foundation

/// Moves a full log file out of the way: `indicator.log` becomes `indicator.log.1`, that becomes `indicator.log.2`, and
/// the last of those to keep is replaced.
///
/// Only for whoever holds the lock on the file at `path`. The last step puts an empty file in the full one's place at one blow: there is a
/// file at the path all the time, so nobody who looks takes the full one for one that somebody else is moving.
package struct LogRotation: Sendable, Hashable {
    /// How many old files to keep.
    package var keep: Int

    package init(keep: Int) {
        self.keep = keep
    }

    /// Puts an empty file in the place of the full one; with nothing to keep, frees the path. When that is not possible, everything
    /// stays in place, apart from a gap in the numbers.
    package func rotate(_ path: LogFilePath) throws(LogFileError) {
        guard keep > 0 else {
            guard unlink(path.description) == 0 else { throw failure(path, "remove it") }
            return
        }
        // Only up to the first gap: with `keep` of 1000 and two old files, that is two renames. A gap that was left
        // behind by a process that died in the middle is filled, and no file is lost by it.
        var free = 1
        while free < keep, exists(path.rotated(free)) { free += 1 }
        for number in stride(from: free - 1, through: 1, by: -1) {
            guard rename(path.rotated(number), path.rotated(number + 1)) == 0 || errno == ENOENT else {
                throw failure(path, "rename '\(path.rotated(number))'")
            }
        }
        try replace(path)
    }

    private func replace(_ path: LogFilePath) throws(LogFileError) {
        let successor = "\(path).new-\(getpid())"
        unlink(successor)
        let descriptor = open(successor, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(path, "make its successor") }
        fchmod(descriptor, 0o600)  // whatever the umask
        close(descriptor)
        unlink(path.rotated(1))
        guard link(path.description, path.rotated(1)) == 0 else {
            // A file system without hard links: the path is free for a moment.
            unlink(successor)
            guard rename(path.description, path.rotated(1)) == 0 else { throw failure(path, "rename it") }
            return
        }
        guard rename(successor, path.description) == 0 else {
            let error = failure(path, "put its successor in its place")
            unlink(path.rotated(1))
            unlink(successor)
            throw error
        }
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private func failure(_ path: LogFilePath, _ operation: String) -> LogFileError {
        .system(path: path.description, operation: operation + " for rotation", code: errno)
    }
}
