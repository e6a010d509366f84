public import BackendConfiguration
import Foundation
import IndicatorCore

extension BackendKind {
    /// A log file with a line each time the indicator is shown or hidden; see ``LogFileBackend``.
    public static var logFile: BackendKind {
        BackendKind(
            name: "logFile",
            summary: "a file with a line each time the indicator is shown or hidden, or for every activity",
            settings: LogFileBackend.Settings.self,
            make: { context, settings in
                LogFileBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    logger: context.logger
                )
            },
            availability: { context, settings in
                try LogFileBackend.checkAccess(
                    settings,
                    applicationName: context.applicationName,
                    environment: ProcessInfo.processInfo.environment
                )
            }
        )
    }
}

extension LogFileBackend.Settings: KindSettings {
    package static let standard = Self()
    package static let bindings: [BoundSetting<Self>] = [
        BoundSetting(
            "path",
            \.path,
            .path,
            example: "~/.local/state/my-app/indicator.log",
            summary: "the file; by default $XDG_STATE_HOME/<app>/indicator.log",
            validate: { path in
                guard let path, let problem = LogFilePath.problem(with: path) else { return nil }
                return path.hasPrefix("$") ? "the path of a file (\(problem))" : "the path of a file"
            }
        ),
        BoundSetting("format", \.format, summary: "the format of the lines"),
        BoundSetting("maxSize", \.maxSize, .size, summary: "the size at which the file is rotated; 0: never"),
        BoundSetting("keep", \.keep, .integer(0...1000), summary: "how many rotated files are kept"),
        BoundSetting(
            "events",
            \.events,
            example: ["begin", "end"],
            summary: "which events get a line; begin and end: of every activity with a label"
        ),
    ]
}

extension LogFileBackend.Format: SettingChoice {}
extension LogFileBackend.Event: SettingChoice {}

extension LogFileBackend {
    /// Throws why the file could not be written, without opening or creating it; otherwise, returns its path.
    ///
    /// Does not check whether a FIFO has a reader: opening and closing it would look like the end of the log to the
    /// reader.
    fileprivate static func checkAccess(
        _ settings: Settings,
        applicationName: String,
        environment: [String: String]
    ) throws(Unavailability) -> String {
        do throws(LogFileError) {
            let path = try LogFilePath(settings.path, applicationName: applicationName, environment: environment)
            try path.checkAccess()
            return path.description
        } catch {
            throw Unavailability(reason: "\(error.path): \(error.problem)", help: error.help)
        }
    }
}

extension LogFilePath {
    /// Throws the error that opening the file would throw because of its type, owner or permissions.
    fileprivate func checkAccess() throws(LogFileError) {
        if let descriptor = standardStream {
            guard fcntl(descriptor, F_GETFD) >= 0 else {
                throw .system(path: description, operation: "use it because it is closed", code: EBADF)
            }
            return
        }
        var status = stat()
        if lstat(description, &status) == 0 {
            let kind = try AppendFile.kind(of: status, path: self)
            try AppendFile.check(status, path: self)
            try check(description, mode: kind == .regular ? R_OK | W_OK : W_OK, "open it")
            return
        }
        var folder = self.folder
        while lstat(folder, &status) != 0, errno == ENOENT, let end = folder.lastIndex(of: "/") {
            folder = end == folder.startIndex ? "/" : String(folder[..<end])
        }
        guard stat(folder, &status) == 0 else {
            throw .system(path: description, operation: "look into the folder '\(folder)'", code: errno)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .system(path: description, operation: "make a file in '\(folder)'", code: ENOTDIR)
        }
        try check(folder, mode: W_OK | X_OK, "make a file in '\(folder)'")
    }

    private func check(_ path: String, mode: Int32, _ operation: String) throws(LogFileError) {
        // With the effective user, as open(2) does.
        guard faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 else {
            throw .system(path: description, operation: operation, code: errno)
        }
    }
}
