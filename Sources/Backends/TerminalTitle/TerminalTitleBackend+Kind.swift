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
                    "progress",
                    .choice(TerminalTitleSettings.Progress.allCases.map(\.rawValue)),
                    default: .string(TerminalTitleSettings.Progress.auto.rawValue),
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
            isApplicable: { _, _ in
                !TerminalTitleError.isAbsent {
                    try TerminalTitleBackend.openTerminal(path: path, environment: environment)
                }
            },
            availability: { _, settings in
                do throws(TerminalTitleError) {
                    let terminal = try TerminalTitleBackend.openTerminal(path: path, environment: environment)
                    return .available(detail: terminal.device.name)
                } catch {
                    return .unavailable(reason: error.reason, help: error.help)
                }
            }
        )
    }
}

extension TerminalTitleSettings {
    fileprivate init(_ settings: BackendSettings, _ context: BackendContext) throws {
        self.init(accessible: context.isAccessible)
        if let text = settings.string("format") { format = try SnapshotFormat(text) }
        if let progress = settings.string("progress").flatMap(Progress.init(rawValue:)) { self.progress = progress }
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
    /// When to show the progress (OSC 9;4).
    public enum Progress: String, Sendable, Hashable, CaseIterable {
        /// On terminals that are known to support it, according to the environment. Others may show it as a
        /// notification.
        case auto
        /// Always.
        case on
        /// Never.
        case off
    }

    /// The text of the title. Default: `{spinner} {label} {progress} ({count}) - {app}`.
    public var format: SnapshotFormat
    /// When to show the progress. Default: `auto`.
    public var progress: Progress
    /// Whether the title has no animation, for screen readers, which read every change. Default: `false`.
    public var accessible: Bool

    /// Makes settings.
    public init(
        format: SnapshotFormat = Self.defaultFormat,
        progress: Progress = .auto,
        accessible: Bool = false
    ) {
        self.format = format
        self.progress = progress
        self.accessible = accessible
    }

    /// `{spinner} {label} {progress} ({count}) - {app}`: narrow tabs show only the beginning.
    @usableFromInline package static let defaultFormat = SnapshotFormat(pieces: [
        .placeholder(.spinner), .literal(" "), .placeholder(.label), .literal(" "), .placeholder(.progress),
        .literal(" ("), .placeholder(.count), .literal(") - "), .placeholder(.app),
    ])
}
