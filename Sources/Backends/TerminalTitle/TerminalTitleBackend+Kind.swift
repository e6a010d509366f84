import Foundation
import IndicatorCore

extension BackendKind {
    /// The title of the terminal that the app runs in.
    public static var terminalTitle: BackendKind {
        terminalTitle(
            path: TerminalDevice.controllingTerminal,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// The kind for a terminal other than the controlling one, or in another environment.
    package static func terminalTitle(path: String, environment: [String: String]) -> BackendKind {
        BackendKind(
            name: "terminalTitle",
            summary: "the title of the terminal that the app runs in",
            settings: [
                BackendSetting(
                    "format",
                    .string,
                    default: .string(TerminalTitleSettings.defaultFormat.description),
                    summary: "the text of the title; may contain {app}, {label}, {count}, {progress}, {done}, {total}, "
                        + "{rate}, {elapsed}, {remaining} and {spinner}",
                    validate: SnapshotFormat.validate
                ),
                BackendSetting(
                    "title",
                    .choice(TerminalTitleSettings.When.allCases.map(\.rawValue)),
                    default: .string(TerminalTitleSettings.When.auto.rawValue),
                    summary: "whether to set the title; auto: on terminals whose own title can be restored"
                ),
                BackendSetting(
                    "progress",
                    .choice(TerminalTitleSettings.When.allCases.map(\.rawValue)),
                    default: .string(TerminalTitleSettings.When.auto.rawValue),
                    summary:
                        "whether the tab or taskbar shows progress (OSC 9;4); auto: on terminals known to support it"
                ),
            ],
            make: { context, settings in
                TerminalTitleBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: try TerminalTitleSettings(settings, context),
                    path: path,
                    environment: environment
                )
            },
            isApplicable: { context, settings in
                guard let settings = try? TerminalTitleSettings(settings, context) else { return false }
                return !TerminalTitleError.isAbsent {
                    try TerminalTitleBackend.openTerminal(path: path, environment: environment, settings: settings)
                }
            },
            availability: { context, settings in
                do {
                    let settings = try TerminalTitleSettings(settings, context)
                    let terminal = try TerminalTitleBackend.openTerminal(
                        path: path,
                        environment: environment,
                        settings: settings
                    )
                    return .available(detail: terminal.device.name)
                } catch let error as TerminalTitleError {
                    return .unavailable(reason: error.reason, help: error.help)
                } catch {
                    return .unavailable(reason: "\(error)", help: nil)
                }
            }
        )
    }
}

extension TerminalTitleSettings {
    fileprivate init(_ settings: BackendSettings, _ context: BackendContext) throws {
        self.init(accessible: context.isAccessible)
        if let text = settings.string("format") { format = try SnapshotFormat(text) }
        if let title = settings.string("title").flatMap(When.init(rawValue:)) { self.title = title }
        if let progress = settings.string("progress").flatMap(When.init(rawValue:)) { self.progress = progress }
    }
}

extension SnapshotFormat {
    /// Validates a setting that is a format; for ``BackendSetting/validate``.
    package static func validate(_ value: BackendSettingValue) -> String? {
        guard case .string(let text) = value else { return nil }
        do {
            _ = try SnapshotFormat(text)
            return nil
        } catch {
            return "a format with known placeholders (\(error))"
        }
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
    }

    /// The text of the title. Default: `{spinner} {label} {progress} ({count}) - {app}`.
    public var format: SnapshotFormat
    /// When to set the title. Default: `auto`, on terminals whose own title can be restored. Others show the sequence
    /// as text, or lose their own title.
    public var title: When
    /// When to show the progress (OSC 9;4). Default: `auto`. Other terminals may show it as a notification.
    public var progress: When
    /// Whether the title has no animation, for screen readers, which read every change. Default: `false`.
    public var accessible: Bool

    /// Makes settings.
    public init(
        format: SnapshotFormat = Self.defaultFormat,
        title: When = .auto,
        progress: When = .auto,
        accessible: Bool = false
    ) {
        self.format = format
        self.title = title
        self.progress = progress
        self.accessible = accessible
    }

    /// `{spinner} {label} {progress} ({count}) - {app}`: narrow tabs show only the beginning.
    @usableFromInline package static let defaultFormat = SnapshotFormat(pieces: [
        .placeholder(.spinner), .literal(" "), .placeholder(.label), .literal(" "), .placeholder(.progress),
        .literal(" ("), .placeholder(.count), .literal(") - "), .placeholder(.app),
    ])
}
