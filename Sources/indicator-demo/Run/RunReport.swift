import Foundation
import IndicatorCore

/// The output of `run --json`.
struct RunReport: Encodable, Sendable, Hashable {
    struct Requests: Encodable, Sendable, Hashable {
        var total = 0
        var succeeded = 0
        var failed = 0
        var cancelled = 0
        /// Of those that succeeded.
        var fromCache = 0
    }

    struct Change: Encodable, Sendable, Hashable {
        var atSeconds: Double
        var visible: Bool

        init(_ change: VisibilityChange) {
            atSeconds = (change.instant / .seconds(1) * 1e6).rounded() / 1e6
            visible = change.isVisible
        }
    }

    struct Backend: Encodable, Sendable, Hashable {
        enum CodingKeys: CodingKey {
            case name, kind, state, updates, error
        }

        var name: String
        var kind: String
        var state: String
        var updates: Int
        var error: String?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
            try container.encode(kind, forKey: .kind)
            try container.encode(state, forKey: .state)
            try container.encode(updates, forKey: .updates)
            // Encodes `null` when there is none.
            try container.encode(error, forKey: .error)
        }
    }

    var requests: Requests
    var visibility: [Change]
    var expectedVisibility: [Change]
    var backends: [Backend]
    /// The unexpected responses; empty when there are none.
    var problems: [String]
    /// The parts that were left out because the server does not support them.
    var omissions: [String]

    /// The report as JSON.
    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

extension RunReport.Requests {
    /// Counts the requests of a record.
    init(_ moments: [RunRecorder.Moment]) {
        for case .result(_, let result) in moments.map(\.event) {
            for outcome in result.outcomes { count(outcome) }
        }
    }

    private mutating func count(_ outcome: RequestOutcome) {
        total += 1
        if outcome.isSuccess {
            succeeded += 1
        } else if outcome == .cancelled {
            cancelled += 1
        } else {
            failed += 1
        }
        if outcome.isFromCache { fromCache += 1 }
    }
}
