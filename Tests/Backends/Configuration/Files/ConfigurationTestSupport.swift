import IndicatorBackends
import TestSupport

@testable import BackendConfiguration

extension TemporaryDirectory {
    /// Writes a config file, and returns its path. Atomically: a watcher must not find it empty in between.
    @discardableResult
    func save(_ text: String, to name: String = "indicator.yaml") throws -> String {
        try save(Data(text.utf8), to: name)
    }

    @discardableResult
    func save(_ data: Data, to name: String) throws -> String {
        let file = URL(filePath: appending(name))
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file, options: .atomic)
        return appending(name)
    }
}

extension ConfigurationSource {
    /// Of the app, with a file, without the process's environment.
    init(path: String) { self.init(for: "my-app", path: path, environment: [:]) }
}

extension BackendRegistry {
    /// As in a build that lacks a kind.
    static func standard(without kind: String) -> Self {
        var registry = Self(kinds: standard.kinds.filter { $0.name != kind })
        registry.registerMissing(kind, Unavailability(reason: "this build has no D-Bus support"))
        return registry
    }
}

/// Loads a configuration from a text, as from a file of that name, without the process's environment.
func configuration(
    of text: String,
    file name: String = "indicator.yaml",
    environment: [String: String] = [:],
    registry: BackendRegistry = .standard,
    overrides: [String: SettingValue] = [:],
    defaults: [String: SettingValue] = [:]
) throws(ConfigurationError) -> IndicatorConfiguration {
    let source = ConfigurationSource(
        for: "my-app",
        environment: environment.merging(["HOME": "/home/user"]) { given, _ in given },
        registry: registry,
        overrides: overrides,
        defaults: defaults
    )
    var reader = ConfigurationReader(source, text: text, path: name)
    let configuration = reader.read()
    guard reader.mistakes.isEmpty else { throw ConfigurationError(reader.mistakes) }
    return configuration
}

/// A process of `test-probe app`, which prints changes of the start delay, and its log to the same stream.
final class HelperProcess {
    let daemon: Daemon
    /// The number of lines that ``says(to:at:_:)`` has passed.
    private var lineCount = 0

    /// Starts it, perhaps through another program, and with this environment alone instead of that of the tests.
    init(_ arguments: [String], wrapper: [String] = [], environment: [String: String]? = nil) throws {
        let only = environment.map { ["env", "-i"] + $0.map { "\($0.key)=\($0.value)" } } ?? []
        let words = only + wrapper + [try Command.built("test-probe"), "app"] + arguments + ["delays"]
        daemon = try Daemon("sh", ["-c", #"exec "$@" 2>&1"#, "sh"] + words)
    }

    /// Waits for a line, after a command or a signal.
    func says(_ line: String, to command: String? = nil, at number: Int32? = nil) async -> Bool {
        await says(to: command, at: number) { $0 == line } != nil
    }

    /// Waits for a matching line, after the last one that was found, and returns it.
    func says(to command: String? = nil, at number: Int32? = nil, _ isExpected: (String) -> Bool) async -> String? {
        if let command { daemon.write(command) }
        if let number { daemon.send(number) }
        var found: String?
        _ = await eventually {
            let lines = daemon.output.components(separatedBy: "\n").dropLast()
            guard let index = lines.dropFirst(lineCount).firstIndex(where: isExpected) else { return false }
            (found, lineCount) = (lines[index], index + 1)
            return true
        }
        return found
    }
}
