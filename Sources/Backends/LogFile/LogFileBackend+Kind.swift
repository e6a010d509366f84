import Foundation
import IndicatorCore

extension BackendKind {
    /// A log file with a line each time the indicator is shown or hidden; see ``LogFileBackend``.
    public static var logFile: BackendKind {
        BackendKind(
            name: "logFile",
            summary: "a file with a line each time the indicator is shown or hidden, or for every activity",
            settings: [
                BackendSetting(
                    "path",
                    .path,
                    example: .string("~/.local/state/my-app/indicator.log"),
                    summary: "the file; by default $XDG_STATE_HOME/<app>/indicator.log",
                    validate: { value in
                        guard case .string(let path) = value, let problem = LogFilePath.problem(with: path) else {
                            return nil
                        }
                        return path.hasPrefix("$") ? "the path of a file (\(problem))" : "the path of a file"
                    }
                ),
                BackendSetting(
                    "format",
                    .choice(LogFileBackend.Format.allCases.map(\.rawValue)),
                    default: .string(standard.format.rawValue),
                    summary: "the format of the lines"
                ),
                BackendSetting(
                    "maxSize",
                    .size,
                    default: .integer(standard.maxSize),
                    summary: "the size at which the file is rotated; 0: never"
                ),
                BackendSetting(
                    "keep",
                    .integer(0...1000),
                    default: .integer(standard.keep),
                    summary: "how many rotated files are kept"
                ),
                BackendSetting(
                    "events",
                    .choices(LogFileBackend.Event.allCases.map(\.rawValue)),
                    default: .list(
                        LogFileBackend.Event.allCases.filter(standard.events.contains).map(\.rawValue)
                    ),
                    example: .list(["begin", "end"]),
                    summary: "which events get a line; begin and end: of every activity with a label"
                ),
            ],
            make: { context, settings in
                LogFileBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: LogFileBackend.Settings(settings),
                    logger: context.logger
                )
            },
            availability: { context, settings in
                LogFileBackend.availability(
                    LogFileBackend.Settings(settings),
                    applicationName: context.applicationName,
                    environment: ProcessInfo.processInfo.environment
                )
            }
        )
    }

    private static let standard = LogFileBackend.Settings()
}

extension LogFileBackend.Settings {
    /// The settings from a section of the config file.
    init(_ settings: BackendSettings) {
        self.init(path: settings.string("path"))
        if let format = settings.string("format").flatMap(LogFileBackend.Format.init(rawValue:)) {
            self.format = format
        }
        if let maxSize = settings.integer("maxSize") { self.maxSize = maxSize }
        if let keep = settings.integer("keep") { self.keep = keep }
        if let events = settings.list("events") { self.events = Set(events.compactMap(LogFileBackend.Event.init)) }
    }
}

extension LogFileBackend {
    /// Whether the file could be written, checked without opening or creating it.
    ///
    /// Does not check whether a FIFO has a reader: opening and closing it would look like the end of the log to the
    /// reader.
    static func availability(
        _ settings: Settings,
        applicationName: String,
        environment: [String: String]
    ) -> BackendAvailability {
        do throws(LogFileError) {
            let path = try LogFilePath(settings.path, applicationName: applicationName, environment: environment)
            try path.checkAccess()
            return .available(detail: path.description)
        } catch {
            return .unavailable(reason: "\(error.path): \(error.problem)", help: error.help)
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
