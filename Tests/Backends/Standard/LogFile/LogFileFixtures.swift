import TestSupport

@testable import IndicatorBackends

/// A decoded line of a JSON log.
struct LogLine: Decodable, Hashable {
    var time: String
    var event: String
    var state: String?
    var visible: Bool?
    var count: Int
    var label: String?
    var progress: Double?
    var since: String?
    var app: String
    var pid: Int32
}

/// Decodes a log and throws at the first incomplete line.
func decodeLog(_ text: String) throws -> [LogLine] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.popLast() == "" else { throw UnfinishedLog(end: String(text.suffix(200))) }
    return try lines.map { try JSONDecoder().decode(LogLine.self, from: Data($0.utf8)) }
}

struct UnfinishedLog: Error {
    var end: String
}

extension IndicatorSnapshot {
    /// 2026-03-01T12:00:00Z plus `seconds`.
    static func noon(_ seconds: Double = 0) -> Date { Date(timeIntervalSince1970: 1_772_366_400 + seconds) }

    static func shown(_ label: String? = nil, at seconds: Double = 0, count: Int = 1, progress: Double? = nil) -> Self {
        Self(state: .active, activityCount: count, label: label, progress: progress, since: noon(seconds))
    }

    /// The same snapshot with another label since `seconds`.
    func changed(to label: String, at seconds: Double, progress: Double? = nil) -> Self {
        var changed = Self.shown(label, count: activityCount, progress: progress)
        changed.since = since
        changed.labelSince = Self.noon(seconds)
        return changed
    }

    static func hidden(at seconds: Double) -> Self {
        Self(state: .inactive, since: noon(seconds))
    }
}

extension BackendDriver<LogFileBackend> {
    /// A backend of the app "my-app".
    static func log(_ path: String?, maxSize: Int = 0, keep: Int = 3, logger: Logger? = nil) -> Self {
        let settings = LogFileBackend.Settings(path: path, format: .json, maxSize: maxSize, keep: keep)
        let logger = logger ?? Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return Self(LogFileBackend(applicationName: "my-app", settings: settings, logger: logger))
    }

    /// Updates the backend. Returns the error that it reports; `nil` if all lines were written.
    func loss(in snapshot: IndicatorSnapshot) async -> String? {
        do { try await update(snapshot) } catch { return "\(error)" }
        return nil
    }
}

/// The permission bits of a file.
func mode(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}
