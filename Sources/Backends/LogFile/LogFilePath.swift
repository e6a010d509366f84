import Foundation

/// The absolute path of a log file.
package struct LogFilePath: Sendable, Hashable, CustomStringConvertible {
    /// The path as the system calls take it.
    package let description: String

    /// Works out the path.
    ///
    /// - Parameters:
    ///   - path: what the settings say: absolute, relative to the current folder, or with `~` for the home folder in
    ///     front. `nil` is `$XDG_STATE_HOME/<app>/indicator.log`, and `~/.local/state/<app>/indicator.log` when that
    ///     variable is not set, or is relative and therefore to be ignored (XDG Base Directory Specification).
    ///   - applicationName: the name of the app.
    ///   - environment: the environment variables.
    package init(
        _ path: String?,
        applicationName: String,
        environment: [String: String]
    ) throws(LogFileError) {
        let given = path ?? Self.defaultPath(applicationName: applicationName, environment: environment)
        if let problem = Self.problem(with: given) { throw .invalidPath(path: given, problem: problem) }
        var path = given
        if path.hasPrefix("~/") {
            guard let home = Self.homeFolder(environment: environment) else { throw .noHomeFolder(path: given) }
            path = home + path.dropFirst()
        } else if !path.hasPrefix("/") {
            path = FileManager.default.currentDirectoryPath + "/" + path
        }
        description = path
    }

    /// What is wrong with a path that cannot be that of a log file; `nil` when it can.
    package static func problem(with path: String) -> String? {
        if path.isEmpty { return "the path is empty" }
        if path.utf8.contains(0) { return "the path has a NUL character in it" }
        if path.hasSuffix("/") { return "the path ends with '/', so it is that of a folder" }
        if path.hasPrefix("~"), !path.hasPrefix("~/") { return "'~' is your own home folder and needs a '/' after it" }
        return nil
    }

    /// The folder that the file is in.
    package var folder: String {
        let end = description.lastIndex(of: "/") ?? description.startIndex
        return end == description.startIndex ? "/" : String(description[..<end])
    }

    /// The path of the file after `count` rotations.
    package func rotated(_ count: Int) -> String { "\(description).\(count)" }

    /// Makes the folder of the file and those above it, as far as they are missing, with mode 0700.
    ///
    /// The mode is the one that the XDG Base Directory Specification asks for, whatever the umask.
    package func makeFolders() throws(LogFileError) {
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

    private static func homeFolder(environment: [String: String]) -> String? {
        if let home = environment["HOME"], home.hasPrefix("/") { return home }
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &result) == 0, result != nil,
            let folder = entry.pw_dir
        else { return nil }
        let home = String(cString: folder)
        return home.hasPrefix("/") ? home : nil
    }
}
