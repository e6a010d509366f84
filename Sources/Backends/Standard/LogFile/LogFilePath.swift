import BackendConfiguration
import DisplayText
import Foundation

/// The absolute path of a log file.
struct LogFilePath: Sendable, Hashable, CustomStringConvertible {
    /// The absolute path.
    let description: String
    /// Whether the given path was relative to the current folder.
    let isRelative: Bool

    /// Resolves the path.
    ///
    /// - Parameters:
    ///   - path: the path from the settings: absolute, relative to the current folder, or with a leading `~` for the
    ///     home folder. `nil` means `$XDG_STATE_HOME/<app>/indicator.log`, or `~/.local/state/<app>/indicator.log` if
    ///     that variable is unset or a relative path (XDG Base Directory Specification).
    ///   - applicationName: the name of the app.
    ///   - environment: the environment variables.
    init(
        _ path: String?,
        applicationName: String,
        environment: [String: String]
    ) throws(LogFileError) {
        let given = path ?? Self.defaultPath(applicationName: applicationName, environment: environment)
        if let problem = Self.problem(with: given) { throw .invalidPath(path: given, problem: problem) }
        var path = given
        if path.hasPrefix("~/") {
            guard let home = HomeFolder.path(in: environment) else { throw .noHomeFolder(path: given) }
            path = home + path.dropFirst()
        }
        isRelative = !path.hasPrefix("/")
        if isRelative {
            path = FileManager.default.currentDirectoryPath + "/" + path
        }
        description = path
    }

    /// Why a path cannot be the path of a log file; `nil` if it can.
    static func problem(with path: String) -> String? {
        if path.isEmpty { return "the path is empty" }
        if path.utf8.contains(0) { return "the path contains a NUL character" }
        if path.hasSuffix("/") { return "the path ends with '/', so it names a folder" }
        if path.hasPrefix("~"), !path.hasPrefix("~/") { return "'~' is your own home folder and needs a '/' after it" }
        if path.hasPrefix("$") {
            return "variables are not expanded, so it leads to a folder named '\(path.prefix { $0 != "/" })' in "
                + "'\(FileManager.default.currentDirectoryPath)'; write '~/' for your home folder"
        }
        return nil
    }

    /// The descriptor of the standard stream that the path names, if any.
    var standardStream: Int32? {
        switch description {
        case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1": STDOUT_FILENO
        case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2": STDERR_FILENO
        default: nil
        }
    }

    /// The folder that the file is in.
    var folder: String {
        let end = description.lastIndex(of: "/") ?? description.startIndex
        return end == description.startIndex ? "/" : String(description[..<end])
    }

    /// The path of the file after `count` rotations.
    func rotated(_ count: Int) -> String { "\(description).\(count)" }

    /// Creates the missing folders of the path with mode 0700.
    ///
    /// The XDG Base Directory Specification requires this mode; the umask is ignored.
    func makeFolders() throws(LogFileError) {
        var missing: [String] = []
        var folder = self.folder
        while folder != "/", !folder.isEmpty {
            if mkdir(folder, 0o700) == 0 {
                chmod(folder, 0o700)
                guard let next = missing.popLast() else { return }
                folder = next
                continue
            }
            switch errno {
            case EEXIST:
                guard let next = missing.popLast() else { return }
                folder = next
            case ENOENT:
                missing.append(folder)
                let end = folder.lastIndex(of: "/") ?? folder.startIndex
                folder = String(folder[..<end])
            case let code:
                throw .system(path: description, operation: "make the folder '\(folder)'", code: code)
            }
        }
    }

    private static func defaultPath(applicationName: String, environment: [String: String]) -> String {
        var name = String(applicationName.map { $0 == "/" || $0 == "\0" ? "_" : $0 })
        if ["", ".", ".."].contains(name) { name = "indicator" }
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") {
            return "\(state)/\(name)/indicator.log"
        }
        return "~/.local/state/\(name)/indicator.log"
    }
}

/// Why a log file cannot be written.
///
/// Its description contains the problem, the path, and what to do.
package enum LogFileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path cannot name a file: it is empty, ends with `/`, or contains a NUL character.
    case invalidPath(path: String, problem: String)
    /// The path begins with `~`, and neither `HOME` nor the user database has the home folder.
    case noHomeFolder(path: String)
    /// The path is a directory.
    case isDirectory(path: String)
    /// The path is a symbolic link, which is not followed.
    case isSymbolicLink(path: String)
    /// The path is a socket or a block device.
    case unsupportedFileType(path: String, type: String)
    /// The path is a FIFO without a reader.
    case fifoWithoutReader(path: String)
    /// In a folder that other users can write, the file belongs to another user, who may have put it there.
    case ownedByOther(path: String, user: UInt32)
    /// A folder of the path is a symbolic link of another user.
    case linkOfOther(path: String, link: String, user: UInt32)
    /// In a folder that other users can write, the file has a second name: it may be any of this user's files.
    case hasOtherNames(path: String)
    /// Lines wait in memory, because the disk is full or the reader does not read.
    case waiting(path: String, reason: String)
    /// A system call failed with `code`, an `errno`, during `operation`.
    case system(path: String, operation: String, code: Int32)

    /// The path of the log file.
    package var path: String {
        switch self {
        case .invalidPath(let path, _), .noHomeFolder(let path), .isDirectory(let path), .isSymbolicLink(let path),
            .linkOfOther(let path, _, _), .unsupportedFileType(let path, _), .fifoWithoutReader(let path),
            .ownedByOther(let path, _),
            .hasOtherNames(let path), .waiting(let path, _), .system(let path, _, _):
            path
        }
    }

    /// The problem, the path, and what to do.
    package var description: String { "log file '\(path)': \(problem); \(help)" }

    /// The problem.
    var problem: String {
        switch self {
        case .invalidPath(_, let problem): problem
        case .noHomeFolder: "the home folder is not known"
        case .isDirectory: "it is a directory"
        case .isSymbolicLink: "it is a symbolic link, which a log file must not be"
        case .unsupportedFileType(_, let type): "it is a \(type)"
        case .fifoWithoutReader: "it is a FIFO that no process reads"
        case .ownedByOther(_, let user):
            "it belongs to user \(user), who may have put it there, because its folder can be written by others"
        case .linkOfOther(_, let link, let user):
            "'\(link)' is a symbolic link of user \(user), who chooses where it leads"
        case .hasOtherNames: "it has a second name (a hard link), and its folder can be written by others"
        case .waiting(_, let reason): "\(reason); its lines wait in memory"
        case .system(_, let operation, let code): "cannot \(operation): \(String(cString: strerror(code)))"
        }
    }

    /// What to do.
    var help: String {
        switch self {
        case .invalidPath: "set 'path' to the path of a file"
        case .noHomeFolder: "set the environment variable HOME, or 'path' to a path that begins with '/'"
        case .isDirectory(let path): "set 'path' to a file in it, such as '\(path)/indicator.log'"
        case .isSymbolicLink: "set 'path' to the file that it points to; a link to the folder is fine"
        case .unsupportedFileType: "set 'path' to a regular file"
        case .fifoWithoutReader: "start its reader first"
        case .ownedByOther, .hasOtherNames:
            "remove it, or set 'path' to a file in a folder that only user \(geteuid()) can write"
        case .linkOfOther: "set 'path' to a file whose folders are not links of other users"
        case .waiting: "free space on its file system, or let its reader continue"
        case .system(_, _, let code): Self.help(for: code)
        }
    }

    /// Whether the failure can end without a change of the path or the permissions.
    var isTemporary: Bool {
        switch self {
        // A file briefly has a second name while another process rotates.
        case .fifoWithoutReader, .hasOtherNames, .waiting: true
        case .system(_, _, let code):
            [ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN, ESTALE, ETXTBSY].contains(code)
        case .invalidPath, .noHomeFolder, .isDirectory, .isSymbolicLink, .unsupportedFileType, .ownedByOther,
            .linkOfOther:
            false
        }
    }

    private static func help(for code: Int32) -> String {
        switch code {
        case EACCES, EPERM:
            "let user \(geteuid()) read and write it and enter its folders, or set 'path' to a file that this user may "
                + "write"
        case EROFS: "set 'path' to a file on a file system that is not read-only"
        case ENOSPC, EDQUOT: "free space on its file system"
        case ENOTDIR: "a part of the path is a file and not a folder: correct 'path'"
        case ENAMETOOLONG: "set 'path' to a shorter one"
        case ELOOP: "its folders are symbolic links in a circle: correct 'path'"
        case EMFILE, ENFILE: "close files, or raise the limit (ulimit -n)"
        default: "set 'path' to a file that can be written"
        }
    }
}
