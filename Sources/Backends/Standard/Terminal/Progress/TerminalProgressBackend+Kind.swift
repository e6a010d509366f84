import IndicatorCore
public import BackendConfiguration
import Foundation

extension BackendKind {
    /// Bars on standard error; see ``TerminalProgressBackend``. Not used unless the config file or the app names it.
    public static var terminalProgress: BackendKind {
        terminalProgress(descriptor: STDERR_FILENO, environment: nil)
    }

    /// The kind for a descriptor other than standard error, or in another environment than that of the process.
    package static func terminalProgress(descriptor: CInt, environment: [String: String]?) -> BackendKind {
        BackendKind(
            name: "terminalProgress",
            summary: "bars on standard error, one for each activity with a label",
            settings: TerminalProgressSettings.init(_:),
            make: { context, settings in
                var settings = settings
                settings.accessible = context.isAccessible
                return TerminalProgressBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: settings,
                    descriptor: descriptor,
                    environment: environment ?? ProcessInfo.processInfo.environment
                )
            },
            availability: { context, settings in
                let environment = environment ?? ProcessInfo.processInfo.environment
                switch TerminalProgressBackend.display(settings, descriptor: descriptor, environment: environment) {
                case .off where settings.mode == .terminal:
                    throw Unavailability(reason: "standard error is not a terminal that can redraw lines")
                case .off: throw Unavailability(reason: "its mode is 'off'")
                case .plain: return "plain lines on standard error"
                case .live: return try TerminalProgressBackend.openTerminal(descriptor, environment).device.name
                }
            }
        )
    }
}

extension TerminalProgressSettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(
            "mode",
            &mode,
            .choice,
            summary: "whether lines are redrawn in place; auto: in a terminal, but not in CI; live: also in CI; "
                + "terminal: as auto, and nothing is written elsewhere"
        )
        values.read("maxLines", &maxLines, .integer(in: 1...16), summary: "how many activities get a line")
        values.read("finished", &finished, .choice, summary: "which activities leave a line when they end")
        values.read(
            "template",
            &template,
            .template,
            summary: "the columns of a line: {label}, {bar}, {spinner}, {progress}, {amount}, {done}, {total}, {rate}, "
                + "{elapsed}, {remaining} and {detail}, with a width and styles as in {bar:40.cyan}"
        )
    }
}

/// How a ``TerminalProgressBackend`` shows the indicator.
public struct TerminalProgressSettings: Sendable, Hashable {
    /// Whether lines are redrawn in place.
    public enum Mode: String, Sendable, Hashable, CaseIterable {
        /// If standard error is a terminal that supports control sequences and the variable `CI` is not set; under
        /// `indicator exec`, if the command's streams are files, on the controlling terminal.
        case auto
        /// Like `auto`, even if `CI` is set.
        case live
        /// Like `auto`, but where `auto` writes plain lines, nothing is written.
        case terminal
        /// Always plain lines, one below the other.
        case plain
        /// Nothing is written.
        case off
    }

    /// Which activities leave a line when they end.
    public enum Finished: String, Sendable, Hashable, CaseIterable {
        /// Those that failed, also before the indicator was shown.
        case failures
        /// All that have lasted for the start delay and end while the indicator is shown, and those that failed.
        case all
        /// None; also as plain lines.
        case none

        /// Whether an activity leaves a line of its own.
        func includes(_ finished: FinishedActivity, in snapshot: IndicatorSnapshot) -> Bool {
            switch self {
            case .all: finished.outcome.isFailure || finished.duration >= snapshot.startDelay
            case .failures: finished.outcome.isFailure
            case .none: false
            }
        }
    }

    /// Whether lines are redrawn in place. Default: `auto`.
    public var mode: Mode
    /// How many activities get a line, 1…16, besides the groups that they belong to; another line has the number of the
    /// others. Default: 4.
    public var maxLines: Int
    /// Which activities leave a line when they end. Default: `all`. Unless it is `none`, plain lines also report
    /// the end of every activity whose beginning they reported.
    public var finished: Finished
    /// Whether to write sentences instead of bars, for screen readers. Default: `false`.
    public var accessible: Bool
    /// The columns of a line. Default: ``LineTemplate/standard``.
    public var template: LineTemplate

    /// Makes settings.
    public init(
        mode: Mode = .auto,
        maxLines: Int = 4,
        finished: Finished = .all,
        accessible: Bool = false,
        template: LineTemplate = .standard
    ) {
        self.mode = mode
        self.maxLines = maxLines
        self.finished = finished
        self.accessible = accessible
        self.template = template
    }
}
