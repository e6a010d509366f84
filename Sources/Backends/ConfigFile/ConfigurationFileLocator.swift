import Foundation

/// Finds the config file of an app.
///
/// The first that there is of:
///
/// 1. the path that the app gives,
/// 2. `$INDICATOR_CONFIG`,
/// 3. `$XDG_CONFIG_HOME/<app>/indicator.yaml`, then `.yml`, then `.json` (without the variable: `~/.config`),
/// 4. `$XDG_CONFIG_HOME/indicator/indicator.yaml`, `.yml`, `.json`,
/// 5. as 3 and 4 under each folder of `$XDG_CONFIG_DIRS` (without the variable: `/etc/xdg`).
///
/// The first two must exist when they are given. An empty variable counts as none, and so does a folder in an XDG variable
/// that is not an absolute path (XDG Base Directory Specification 0.8).
struct ConfigurationFileLocator {
    /// The variable that names the config file.
    static let variable = "INDICATOR_CONFIG"

    var applicationName: String
    var path: String?
    var environment: [String: String]

    enum Found {
        /// Somebody said which file to take, so it must be there.
        case given(String)
        /// There is a file at one of the usual places.
        case discovered(String)
        /// There is none.
        case nothing
    }

    func locate() -> Found {
        if let path { return .given(expandingHome(path)) }
        if let path = environment[Self.variable], !path.isEmpty { return .given(expandingHome(path)) }
        // `lstat`: a link that leads nowhere is the user's mistake to hear about, not a reason to look elsewhere.
        for candidate in candidates {
            var status = stat()
            if lstat(candidate, &status) == 0 || errno == EACCES { return .discovered(candidate) }
        }
        return .nothing
    }

    /// The places where a file is looked for when none is given, in order.
    var candidates: [String] {
        var folders: [String] = []
        for base in baseFolders {
            if isFolderName(applicationName) { folders.append("\(base)/\(applicationName)") }
            folders.append("\(base)/indicator")
        }
        return folders.flatMap { folder in ["yaml", "yml", "json"].map { "\(folder)/indicator.\($0)" } }
    }

    private var baseFolders: [String] {
        let configured = environment["XDG_CONFIG_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let home = configured ?? "\(HomeFolder.path(in: environment))/.config"
        let given = (environment["XDG_CONFIG_DIRS"] ?? "").split(separator: ":").map(String.init)
            .filter { $0.hasPrefix("/") }
        let others = given.isEmpty ? ["/etc/xdg"] : given
        return ([home] + others).map { $0.count > 1 && $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }

    private func expandingHome(_ path: String) -> String {
        HomeFolder.expanding(path, in: environment)
    }

    private func isFolderName(_ name: String) -> Bool {
        !name.isEmpty && name != "." && name != ".." && !name.contains("/")
    }
}

/// The user's home folder, and `~` as a short form of it.
enum HomeFolder {
    static func path(in environment: [String: String]) -> String {
        if let home = environment["HOME"], home.hasPrefix("/") { return home }
        return NSHomeDirectory()
    }

    /// The path with `~` at its beginning replaced.
    static func expanding(_ path: String, in environment: [String: String]) -> String {
        if path == "~" { return Self.path(in: environment) }
        guard path.hasPrefix("~/") else { return path }
        return Self.path(in: environment) + path.dropFirst(1)
    }
}
