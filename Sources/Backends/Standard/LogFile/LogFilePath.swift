import BackendConfiguration
import IndicatorCore
import Foundation

/// The absolute path of a log file.
struct LogFilePath: Sendable, Hashable, CustomStringConvertible {
    /// The absolute path.
    let description: String

    /// Resolves the path from the settings: absolute, relative to the current folder, or with a leading `~` for the
    /// home folder. `nil` means `$XDG_STATE_HOME/<app>/indicator.log`, or `~/.local/state/<app>/indicator.log` if that
    /// variable is unset or a relative path (XDG Base Directory Specification).
    init(
        _ path: String?,
        applicationName: String,
        environment: @autoclosure () -> [String: String] = ProcessInfo.processInfo.environment
    ) throws(Unavailability) {
        let given = path ?? Self.defaultPath(applicationName: applicationName, environment: environment())
        if let problem = Self.problem(with: given) {
            throw Self.refusal(given, problem, "set 'path' to the path of a file")
        }
        let path = given.hasPrefix("~") ? HomeFolder.expanding(given, in: environment()) : given
        if path.hasPrefix("~") {
            let help = "set the environment variable HOME, or 'path' to a path that begins with '/'"
            throw Self.refusal(given, "the home folder is not known", help)
        }
        description = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
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

    private static func defaultPath(applicationName: String, environment: [String: String]) -> String {
        var name = String(applicationName.map { $0 == "/" || $0 == "\0" ? "_" : $0 })
        if ["", ".", ".."].contains(name) { name = "indicator" }
        if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/\(name)/indicator.log" }
        return "~/.local/state/\(name)/indicator.log"
    }

    /// The descriptor of the standard stream that the path names, if any.
    var standardStream: CInt? {
        switch description {
        case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1": STDOUT_FILENO
        case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2": STDERR_FILENO
        default: nil
        }
    }

    /// The folder that the file is in.
    var folder: String { Self.folder(of: description) }

    private static func folder(of path: String) -> String {
        let end = path.lastIndex(of: "/") ?? path.startIndex
        return end == path.startIndex ? "/" : String(path[..<end])
    }

    /// The path of the file after `count` rotations.
    func rotated(_ count: Int) -> String { "\(description).\(count)" }

    /// Creates the missing folders of the path with mode 0700, which the XDG Base Directory Specification requires.
    func makeFolders() throws(Unavailability) {
        for folder in missingFolders where mkdir(folder, 0o700) != 0 && errno != EEXIST {
            throw failure("make the folder '\(folder)'", errno)
        }
    }

    /// Throws why the file, which does not exist, cannot be made.
    func checkFolder() throws(Unavailability) {
        let folder = missingFolders.first.map(Self.folder) ?? self.folder
        guard access("\(folder)/.", W_OK | X_OK) == 0 else { throw failure("make a file in '\(folder)'", errno) }
    }

    private var missingFolders: [String] {
        var (missing, folder, status) = ([String](), self.folder, stat())
        while lstat(folder, &status) != 0, errno == ENOENT {
            missing.insert(folder, at: 0)
            folder = Self.folder(of: folder)
        }
        return missing
    }

    /// Throws if a file cannot be a log, or if another user may have put it there, to read what is written or to
    /// redirect it to another file.
    ///
    /// A folder that only this user and root can write is trusted. In any other folder the file must belong to this
    /// user or root, or be shared by the group that shares the folder, and have no second name: it could be a hard link
    /// to any of this user's files.
    func check(_ status: stat) throws(Unavailability) {
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFCHR: break
        case S_IFDIR: throw refusal("it is a directory", "set 'path' to a file in it, such as '\(self)/indicator.log'")
        case S_IFLNK:
            let help = "set 'path' to the file that it points to; a link to the folder is fine"
            throw refusal("it is a symbolic link, which a log file must not be", help)
        default: throw refusal("it is a FIFO, a socket or a block device", "set 'path' to a regular file")
        }
        var folder = stat()
        let isOwn = stat(self.folder, &folder) == 0 && Self.isTrusted(folder.st_uid) && folder.st_mode & S_IWOTH == 0
        if isOwn, folder.st_mode & S_IWGRP == 0 { return }
        // Of a rotation, for example, by another user of the group.
        let isShared = isOwn && status.st_gid == folder.st_gid && status.st_mode & S_IWGRP != 0
        let help = "remove it, or set 'path' to a file in a folder that only user \(geteuid()) can write"
        guard Self.isTrusted(status.st_uid) || isShared else {
            let reason = "who may have put it there, because its folder can be written by others"
            throw refusal("it belongs to user \(status.st_uid), \(reason)", help)
        }
        guard status.st_nlink < 2 || status.st_mode & S_IFMT != S_IFREG else {
            throw refusal("it has a second name (a hard link), and its folder can be written by others", help)
        }
    }

    /// Throws if a folder of the path is a symbolic link that another user has made: the log would be where that user
    /// wants it.
    func checkLinks() throws(Unavailability) {
        for (folder, names) in watchPoints(for: description) {
            for name in names {
                let link = folder == "/" ? "/\(name)" : "\(folder)/\(name)"
                var status = stat()
                guard lstat(link, &status) == 0, status.st_mode & S_IFMT == S_IFLNK, !Self.isTrusted(status.st_uid)
                else { continue }
                throw refusal(
                    "'\(link)' is a symbolic link of user \(status.st_uid), who chooses where it leads",
                    "set 'path' to a file whose folders are not links of other users"
                )
            }
        }
    }

    private static func isTrusted(_ user: uid_t) -> Bool { user == geteuid() || user == 0 }

    private static func refusal(_ path: String, _ problem: String, _ help: String) -> Unavailability {
        Unavailability(reason: "log file '\(path)': \(problem)", help: help)
    }

    private func refusal(_ problem: String, _ help: String) -> Unavailability {
        Self.refusal(description, problem, help)
    }

    /// The error of a system call during an operation.
    func failure(_ operation: String, _ code: CInt, _ help: String? = nil) -> Unavailability {
        refusal("cannot \(operation): \(String(cString: strerror(code)))", help ?? Self.help(for: code))
    }
}

extension LogFilePath {
    /// What to do about the error of a system call.
    private static func help(for code: CInt) -> String {
        switch code {
        case EACCES, EPERM:
            "let user \(geteuid()) read and write it and enter its folders, or set 'path' to a file that this user may "
                + "write"
        case EROFS: "set 'path' to a file on a file system that is not read-only"
        case ENOSPC, EDQUOT: "free space on its file system"
        case ENOENT: "make or mount what a link on its path leads to, or set 'path' to another file"
        case ENOTDIR: "a part of the path is a file and not a folder: correct 'path'"
        case EMFILE, ENFILE: "close files, or raise the limit (ulimit -n)"
        default: "set 'path' to a file that can be written"
        }
    }
}
