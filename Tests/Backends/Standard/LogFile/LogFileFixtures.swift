import TestSupport

@testable import IndicatorBackends

/// A decoded line of a JSON log.
struct LogLine: Decodable {
    var time: String
    var event: String
    var count: Int?
    var label: String?
}

/// Decodes a log and throws at the first incomplete line.
func decodeLog(_ text: String) throws -> [LogLine] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.popLast() == "" else { throw FixtureError("the last line is incomplete: \(text.suffix(200))") }
    return try lines.map { try JSONDecoder().decode(LogLine.self, from: Data($0.utf8)) }
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

extension FinishedActivity {
    init(_ label: String, _ outcome: ActivityOutcome = .succeeded, seconds: Int = 12) {
        self.init(label: label, outcome: outcome, duration: .seconds(seconds))
    }
}

extension BackendDriver<LogFileBackend> {
    static func log(_ path: String?, maxSize: Int = 0, keep: Int = 3, logger: Logger? = nil) -> Self {
        let settings = LogFileBackend.Settings(path: path, format: .json, maxSize: maxSize, keep: keep)
        let logger = logger ?? Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        return Self(LogFileBackend(applicationName: "my-app", settings: settings, logger: logger))
    }

    func write(_ snapshots: IndicatorSnapshot...) async throws {
        try await start()
        for snapshot in snapshots { try await update(snapshot) }
        await stop()
    }
}
