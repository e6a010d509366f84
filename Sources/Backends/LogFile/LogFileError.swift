import Foundation

/// Why a log file cannot be written.
///
/// Its text says what is wrong, at which path, and what to do.
public enum LogFileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path cannot be that of a file: it is empty, ends in `/`, or has a NUL character in it.
    case invalidPath(path: String, problem: String)
    /// The path needs the home folder, and neither `HOME` nor the user database tells it.
    case noHomeFolder(path: String)
    /// The path is a directory.
    case isDirectory(path: String)
    /// The path is a symbolic link. Those are not followed.
    case isSymbolicLink(path: String)
    /// The path is a socket or a block device.
    case unsupportedFileType(path: String, type: String)
    /// The path is a FIFO that no process reads.
    case fifoWithoutReader(path: String)
    /// A system call failed with `code`, an `errno`; `operation` says what it was to do.
    case system(path: String, operation: String, code: Int32)

    /// The path of the log file.
    public var path: String {
        switch self {
        case .invalidPath(let path, _), .noHomeFolder(let path), .isDirectory(let path), .isSymbolicLink(let path),
            .unsupportedFileType(let path, _), .fifoWithoutReader(let path), .system(let path, _, _):
            path
        }
    }

    /// What was wrong, where, and what to do.
    public var description: String { "log file '\(path)': \(problem); \(help)" }

    /// What was wrong.
    package var problem: String {
        switch self {
        case .invalidPath(_, let problem): problem
        case .noHomeFolder: "the home folder is not known"
        case .isDirectory: "it is a directory"
        case .isSymbolicLink: "it is a symbolic link, which a log file must not be"
        case .unsupportedFileType(_, let type): "it is a \(type)"
        case .fifoWithoutReader: "it is a FIFO that no process reads"
        case .system(_, let operation, let code): "cannot \(operation): \(String(cString: strerror(code)))"
        }
    }

    /// What to do.
    package var help: String {
        switch self {
        case .invalidPath: "set 'path' to the path of a file"
        case .noHomeFolder: "set the environment variable HOME, or 'path' to a path that begins with '/'"
        case .isDirectory(let path): "set 'path' to a file in it, such as '\(path)/indicator.log'"
        case .isSymbolicLink: "set 'path' to the file that it points to; a link to the folder is fine"
        case .unsupportedFileType: "set 'path' to a regular file"
        case .fifoWithoutReader: "start its reader first"
        case .system(_, _, let code): Self.help(for: code)
        }
    }

    /// Whether the failure can pass without anybody changing the path or the permissions.
    package var isTemporary: Bool {
        switch self {
        case .fifoWithoutReader: true
        case .system(_, _, let code):
            [ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, ESTALE, ETXTBSY].contains(code)
        case .invalidPath, .noHomeFolder, .isDirectory, .isSymbolicLink, .unsupportedFileType: false
        }
    }

    private static func help(for code: Int32) -> String {
        switch code {
        case EACCES, EPERM:
            "let user \(geteuid()) read and write it and enter its folders, or set 'path' to a file that this user may "
                + "write"
        case EROFS: "set 'path' to a file on a file system that is not read-only"
        case ENOSPC, EDQUOT: "make room on its file system"
        case ENOTDIR: "a part of the path is a file and not a folder: correct 'path'"
        case ENAMETOOLONG: "set 'path' to a shorter one"
        case ELOOP: "its folders are symbolic links in a circle: correct 'path'"
        case EMFILE, ENFILE: "close files, or raise the limit (ulimit -n)"
        default: "set 'path' to a file that can be written"
        }
    }
}
