import IndicatorCore
import Foundation

/// The user's home folder, and the expansion of `~`.
package enum HomeFolder {
    /// The folder in the variable `HOME`, else that of Foundation's user in the user database; `nil` without both.
    package static func path(in environment: [String: String]) -> String? {
        if let home = environment["HOME"], home.hasPrefix("/") { return home }
        // Not `NSHomeDirectory()`, which has a folder of its own for a user without an entry.
        return NSHomeDirectoryForUser(NSUserName()).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// The folder of the process at first: an app may change it before its files are opened.
    package static let startFolder = FileManager.default.currentDirectoryPath

    /// The absolute path of a file; unchanged if the home folder is unknown.
    static func absolute(_ path: String, in environment: [String: String]) -> String {
        let path = expanding(path, in: environment)
        return path.isEmpty || path.hasPrefix("/") || path.hasPrefix("~") ? path : "\(startFolder)/\(path)"
    }

    /// The path with a leading `~` replaced; unchanged if the home folder is unknown.
    package static func expanding(_ path: String, in environment: [String: String]) -> String {
        guard path == "~" || path.hasPrefix("~/"), let home = Self.path(in: environment) else { return path }
        return home + path.dropFirst(1)
    }
}

/// A file that contains a secret.
package enum SecretFile {
    /// What to report about a file that every user of the machine can read; `nil` if they cannot.
    package static func warning(_ path: String) -> String? {
        var (place, needed, status) = (URL(filePath: path).resolvingSymlinksInPath(), S_IROTH, stat())
        // Nobody gets to what is in a home folder that only the user may enter.
        while place.path != "/" {
            guard stat(place.path, &status) == 0, status.st_mode & needed != 0 else { return nil }
            place.deleteLastPathComponent()
            needed = S_IXOTH
        }
        return "the file '\(QuotedText.shortened(path))' has a secret, and every user can read it (chmod o-r)"
    }
}
