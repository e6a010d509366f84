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

    /// The kind, for another terminal than the controlling one or in another environment.
    package static func terminalTitle(path: String, environment: [String: String]) -> BackendKind {
        BackendKind(
            name: "terminalTitle",
            summary: "the title of the terminal that the app runs in",
            settings: [
                BackendSetting(
                    "format",
                    .string,
                    default: .string(TerminalTitleSettings.defaultFormat.description),
                    summary: "the text of the title; may have {app}, {label}, {count}, {progress} and {spinner}",
                    validate: SnapshotFormat.validate
                ),
                BackendSetting(
                    "progress",
                    .choice(TerminalTitleSettings.Progress.allCases.map(\.rawValue)),
                    default: .string(TerminalTitleSettings.Progress.auto.rawValue),
                    summary:
                        "whether the terminal's tab or taskbar shows the progress (OSC 9;4); auto: where it is known to"
                ),
            ],
            make: { context, settings in
                TerminalTitleBackend(
                    name: context.name,
                    applicationName: context.applicationName,
                    settings: try TerminalTitleSettings(settings),
                    path: path,
                    environment: environment
                )
            },
            isApplicable: { _, _ in
                (try? TerminalTitleBackend.openTerminal(path: path, environment: environment)) != nil
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
    fileprivate init(_ settings: BackendSettings) throws {
        self.init()
        if let text = settings.string("format") { format = try SnapshotFormat(text) }
        if let progress = settings.string("progress").flatMap(Progress.init(rawValue:)) { self.progress = progress }
    }
}

extension SnapshotFormat {
    /// Checks a setting that is a format; for ``BackendSetting/validate``.
    package static func validate(_ value: BackendSettingValue) -> String? {
        guard case .string(let text) = value else { return nil }
        do throws(SnapshotFormatError) {
            _ = try SnapshotFormat(text)
            return nil
        } catch {
            return "a format with known placeholders (\(error))"
        }
    }
}

/// What a ``TerminalTitleBackend`` shows.
public struct TerminalTitleSettings: Sendable, Hashable {
    /// When the terminal is shown the progress beside the title (OSC 9;4).
    public enum Progress: String, Sendable, Hashable, CaseIterable {
        /// On terminals that are known to show it, judged by the environment. Others may read it as a notification.
        case auto
        /// Always.
        case on
        /// Never.
        case off
    }

    /// The text of the title. Default: ``defaultFormat``.
    public var format: SnapshotFormat
    /// When the terminal is shown the progress beside the title. Default: `auto`.
    public var progress: Progress

    /// Makes settings, by default the default ones.
    public init(format: SnapshotFormat = Self.defaultFormat, progress: Progress = .auto) {
        self.format = format
        self.progress = progress
    }

    /// `{spinner} {label} {progress} ({count}) - {app}`: the beginning is what a narrow tab shows.
    public static let defaultFormat = SnapshotFormat(pieces: [
        .placeholder(.spinner), .literal(" "), .placeholder(.label), .literal(" "), .placeholder(.progress),
        .literal(" ("), .placeholder(.count), .literal(") - "), .placeholder(.app),
    ])
}
