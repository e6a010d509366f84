public import BackendConfiguration
import Foundation
import IndicatorCore

extension BackendKind {
    /// A log file with a line each time the indicator is shown or hidden; see ``LogFileBackend``.
    public static var logFile: BackendKind {
        BackendKind(
            name: "logFile",
            summary: "a file with a line each time the indicator is shown or hidden, or an activity ends",
            settings: LogFileBackend.Settings.init(_:),
            make: { context, settings in
                LogFileBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    logger: context.logger
                )
            },
            // Leaves nothing behind.
            availability: { context, settings in
                let path = try LogFilePath(settings.path, applicationName: context.applicationName)
                let isRotated = try LogFile.check(path) || settings.maxSize == 0
                return isRotated ? path.description : "\(path), which grows: its folder cannot be written"
            }
        )
    }
}

extension LogFileBackend.Settings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(
            "path",
            &path,
            .path,
            example: "~/.local/state/my-app/indicator.log",
            summary: "the file; by default $XDG_STATE_HOME/<app>/indicator.log",
            validate: { path in
                guard let problem = LogFilePath.problem(with: path) else { return nil }
                return path.hasPrefix("$") ? "the path of a file (\(problem))" : "the path of a file"
            }
        )
        values.read("format", &format, .choice, summary: "the format of the lines")
        values.read("maxSize", &maxSize, .size, summary: "the size at which the file is rotated; 0: never")
        values.read("keep", &keep, .integer(in: 0...1000), summary: "how many rotated files are kept")
        values.read("events", &events, .choices(), example: [.shown, .hidden], summary: "which events get a line")
    }
}
