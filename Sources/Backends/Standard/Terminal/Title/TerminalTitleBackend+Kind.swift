public import BackendConfiguration
public import IndicatorCore
import Foundation

extension BackendKind {
    /// The title of the terminal that the app runs in.
    public static var terminalTitle: BackendKind {
        terminalTitle(path: TerminalDevice.controllingTerminal, environment: nil)
    }

    /// The kind for a terminal other than the controlling one, or in another environment than that of the process.
    package static func terminalTitle(path: String, environment: [String: String]?) -> BackendKind {
        @Sendable func backend(_ context: BackendContext, _ settings: TerminalTitleSettings) -> TerminalTitleBackend {
            var settings = settings
            settings.accessible = context.isAccessible
            return TerminalTitleBackend(
                name: context.name,
                applicationName: context.applicationName,
                settings: settings,
                path: path,
                environment: environment ?? ProcessInfo.processInfo.environment
            )
        }
        return BackendKind(
            name: "terminalTitle",
            summary: "the title of the terminal that the app runs in",
            settings: TerminalTitleSettings.init(_:),
            make: backend,
            isApplicable: { !TerminalError.isAbsent(backend($0, $1).openTerminal) },
            availability: { context, settings in
                let backend = backend(context, settings)
                let terminal = try backend.openTerminal()
                return terminal.device.name + (backend.surfaces == "the title" ? "" : ", for \(backend.surfaces)")
            },
            automatic: { context, settings in
                let backend = backend(context, settings)
                do throws(TerminalError) {
                    _ = try backend.openTerminal()
                    return AutomaticFit(true, "the terminal shows \(backend.surfaces)")
                } catch {
                    return AutomaticFit(false, error.reason)
                }
            }
        )
    }
}

extension TerminalTitleSettings {
    init(_ values: inout SettingsReader) {
        self.init()
        values.read(
            "format",
            &format,
            .format,
            summary: "the text of the title; may contain {app}, {label}, {count}, {progress}, {done}, {total}, {rate}, "
                + "{elapsed}, {remaining} and {spinner}"
        )
        values.read(
            "title",
            &title,
            .choice,
            summary: "whether to set the title; auto: on terminals whose own title can be restored"
        )
        values.read(
            "progress",
            &progress,
            .choice,
            summary: "whether the tab or taskbar shows progress (OSC 9;4); auto: on terminals known to support it"
        )
        values.read(
            "status",
            &status,
            .choice,
            summary: "whether to report the activities to the terminal (OSC 7501); auto: where it is known to show them"
        )
    }
}

/// The settings of a ``TerminalTitleBackend``.
public struct TerminalTitleSettings: Sendable, Hashable {
    /// When to use a control sequence that not every terminal supports.
    public enum When: String, Sendable, Hashable, CaseIterable {
        /// On terminals that are known to support it, according to the environment.
        case auto
        /// Always.
        case on
        /// Never.
        case off

        func isOn(auto: @autoclosure () -> Bool) -> Bool { self == .auto ? auto() : self == .on }
    }

    /// The text of the title. Default: `{spinner} {label} {progress} ({count}) - {app}`.
    public var format: SnapshotFormat
    /// When to set the title. Default: `auto`, on terminals whose own title can be restored. Others show the sequence
    /// as text, or lose their own title.
    public var title: When
    /// When to show the progress (OSC 9;4). Default: `auto`. Other terminals may show it as a notification.
    public var progress: When
    /// When to report the indicator and its activities by the Program Status Protocol (OSC 7501). Default: `auto`. Most
    /// other terminals ignore it.
    public var status: When
    /// Whether the title has no animation, for screen readers, which read every change. Default: `false`.
    public var accessible: Bool

    /// Makes settings.
    public init(
        format: SnapshotFormat = Self.defaultFormat,
        title: When = .auto,
        progress: When = .auto,
        status: When = .auto,
        accessible: Bool = false
    ) {
        self.format = format
        self.title = title
        self.progress = progress
        self.status = status
        self.accessible = accessible
    }

    /// `{spinner} {label} {progress} ({count}) - {app}`: narrow tabs show only the beginning.
    @usableFromInline package static let defaultFormat = SnapshotFormat(pieces: [
        .placeholder(.spinner), .literal(" "), .placeholder(.label), .literal(" "), .placeholder(.progress),
        .literal(" ("), .placeholder(.count), .literal(") - "), .placeholder(.app),
    ])
}
