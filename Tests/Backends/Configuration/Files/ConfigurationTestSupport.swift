import Foundation
import IndicatorCore
import IndicatorTesting

@testable import BackendConfiguration

/// A temporary folder, removed when the value is deallocated.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "indicator-config-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Writes a file, creates its folders, and returns its path.
    @discardableResult
    func write(_ text: String, to name: String = "indicator.yaml") throws -> String {
        try write(Data(text.utf8), to: name)
    }

    @discardableResult
    func write(_ data: Data, to name: String) throws -> String {
        let file = "\(path)/\(name)"
        let folder = (file as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        // Atomically: a watcher of the file must not find it empty in between.
        try data.write(to: URL(filePath: file), options: .atomic)
        return file
    }
}

extension BackendRegistry {
    /// Kinds with the schema of the built-in ones, so that the tests of the config file do not change with those.
    static func forTests(
        make: @escaping @Sendable (BackendContext, BackendSettings) throws -> any IndicatorBackend = { context, _ in
            InMemoryBackend(name: context.name)
        }
    ) -> Self {
        var registry = Self(kinds: [
            BackendKind(
                name: "terminalTitle",
                summary: "the title of the terminal",
                settings: [
                    BackendSetting(
                        "format",
                        .string,
                        default: .string("{spinner} {label}"),
                        summary: "what the title says",
                        validate: { value in
                            guard case .string(let text) = value, text.contains("{spiner}") else { return nil }
                            return "a format of {app}, {label}, {count}, {progress} and {spinner}"
                        }
                    ),
                    BackendSetting(
                        "progress",
                        .choice(["auto", "on", "off"]),
                        default: .string("auto"),
                        summary: "whether to show progress"
                    ),
                ],
                make: make
            ),
            BackendKind(
                name: "dbusProperty",
                summary: "properties on a bus",
                settings: [BackendSetting("bus", .string, default: .string("session"), summary: "which bus")],
                make: make
            ),
            BackendKind(
                name: "logFile",
                summary: "a line a transition",
                settings: [
                    BackendSetting("path", .path, summary: "the file", isRequired: true),
                    BackendSetting(
                        "format",
                        .choice(["json", "text"]),
                        default: .string("json"),
                        summary: "the format"
                    ),
                    BackendSetting("maxSize", .size, default: .integer(1 << 20), summary: "when to rotate"),
                    BackendSetting("keep", .integer(0...100), default: .integer(5), summary: "how many to keep"),
                ],
                make: make
            ),
        ])
        registry.registerMissing(
            "desktopNotification",
            reason: "this build has no desktop notifications; build with the trait DesktopNotification"
        )
        return registry
    }
}

/// Loads a configuration from a text, as from a file of that name, without the process's environment.
func configuration(
    of text: String,
    file name: String = "indicator.yaml",
    environment: [String: String] = [:],
    overrides: ConfigurationValues = ConfigurationValues(),
    defaults: ConfigurationValues = ConfigurationValues()
) throws(ConfigurationError) -> IndicatorConfiguration {
    let source = ConfigurationSource(
        for: "my-app",
        environment: environment.merging(["HOME": "/home/user"]) { given, _ in given },
        registry: .forTests(),
        overrides: overrides,
        defaults: defaults
    )
    var builder = ConfigurationBuilder(source, file: FileValues(text: text, path: name, source: source))
    let configuration = builder.build()
    guard builder.mistakes.isEmpty else { throw ConfigurationError(builder.mistakes) }
    return configuration
}
