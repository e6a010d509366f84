#if MQTT
package import IndicatorBackends
import IndicatorCore
import JSONScanning

extension MQTTReport {
    /// Decodes a message; `nil` if it is not a report.
    package init?(_ payload: UnsafeRawBufferPointer) {
        guard payload.count <= Self.longestPayload, let base = payload.baseAddress else { return nil }
        var scanner = JSONScanner(base.assumingMemoryBound(to: UInt8.self), count: payload.count)
        self.init(state: "", epoch: 0)
        do {
            try read(&scanner)
            guard isPlausible, scanner.isAtEnd() else { return nil }
        } catch {
            return nil
        }
    }

    /// Reads an object. `JSONDecoder` takes several times as long, which would be a watcher's main cost.
    private mutating func read(_ scanner: inout JSONScanner) throws(JSONProblem) {
        try scanner.object { scanner, key throws(JSONProblem) in
            if scanner.isEqual(key, to: "state") {
                state = try scanner.text() ?? ""
            } else if scanner.isEqual(key, to: "visible") {
                visible = try scanner.boolean()
            } else if scanner.isEqual(key, to: "count") {
                count = try scanner.integer()
            } else if scanner.isEqual(key, to: "label") {
                label = try scanner.text()
            } else if scanner.isEqual(key, to: "progress") {
                progress = try scanner.decimal()
            } else if scanner.isEqual(key, to: "attention") {
                attention = try scanner.text()
            } else if scanner.isEqual(key, to: "activities") {
                activities = try scanner.activities()
            } else if scanner.isEqual(key, to: "epoch") {
                epoch = try scanner.integer() ?? 0
            } else if scanner.isEqual(key, to: "since") {
                since = try scanner.text()
            } else if scanner.isEqual(key, to: "seq") {
                seq = try scanner.integer()
            } else if scanner.isEqual(key, to: "refresh") {
                refresh = try scanner.integer()
            } else {
                try scanner.skipValue()
            }
        }
    }

    /// Whether an indicator can have sent it.
    private var isPlausible: Bool {
        let progress = [progress] + (activities ?? []).map(\.progress)
        return (state == "lost" || IndicatorState(rawValue: state) != nil) && epoch > 0 && seq ?? 1 > 0
            && count ?? 0 >= 0 && (1...86400).contains(refresh ?? 1)
            && progress.allSatisfy { (0...1).contains($0 ?? 0) }
    }
}

extension MQTTEvents {
    /// Decodes a message; `nil` if it does not contain events.
    package init?(_ payload: UnsafeRawBufferPointer) {
        guard payload.count <= MQTTReport.longestPayload, let base = payload.baseAddress else { return nil }
        var scanner = JSONScanner(base.assumingMemoryBound(to: UInt8.self), count: payload.count)
        self.init(epoch: 0, finished: [], omitted: 0)
        do {
            var hasFinished = false
            try scanner.object { scanner, key throws(JSONProblem) in
                if scanner.isEqual(key, to: "epoch") {
                    epoch = try scanner.integer() ?? 0
                } else if scanner.isEqual(key, to: "finished") {
                    (finished, hasFinished) = (try scanner.finished(), true)
                } else if scanner.isEqual(key, to: "omitted") {
                    omitted = try scanner.integer()
                } else {
                    try scanner.skipValue()
                }
            }
            guard hasFinished, isPlausible, scanner.isAtEnd() else { return nil }
        } catch {
            return nil
        }
    }

    /// Whether an indicator can have sent it.
    private var isPlausible: Bool {
        let outcomes = ["unspecified", "succeeded", "failed", "cancelled"]
        return epoch > 0 && omitted ?? 0 >= 0
            && finished.allSatisfy { outcomes.contains($0.outcome) && $0.seconds >= 0 && $0.seconds.isFinite }
    }
}

extension JSONScanner {
    /// Reads an object.
    fileprivate mutating func object(
        _ member: (inout JSONScanner, StringToken) throws(JSONProblem) -> Void
    ) throws(JSONProblem) {
        try expect(UInt8(ascii: "{"))
        try elements(until: UInt8(ascii: "}")) { scanner throws(JSONProblem) in
            let key = try scanner.string()
            try scanner.expect(UInt8(ascii: ":"))
            try member(&scanner, key)
        }
    }

    /// Reads a text, shortened: those of other senders may be long, and a watcher keeps many reports. `nil` for `null`.
    fileprivate mutating func text() throws(JSONProblem) -> String? {
        skip("null") ? nil : MQTTReport.text(try text(of: string()))
    }

    fileprivate mutating func boolean() throws(JSONProblem) -> Bool? {
        if skip("null") { return nil }
        if skip("true") { return true }
        guard skip("false") else { throw problem("expected true or false") }
        return false
    }

    fileprivate mutating func integer() throws(JSONProblem) -> Int? {
        if skip("null") { return nil }
        guard let value = Int(try number()) else { throw problem("expected a whole number") }
        return value
    }

    fileprivate mutating func decimal() throws(JSONProblem) -> Double? {
        if skip("null") { return nil }
        guard let value = Double(try number()) else { throw problem("expected a number") }
        return value
    }

    /// Reads activities: the first 16.
    fileprivate mutating func activities() throws(JSONProblem) -> [MQTTReport.Activity]? {
        if skip("null") { return nil }
        var activities: [MQTTReport.Activity] = []
        try expect(UInt8(ascii: "["))
        try elements(until: UInt8(ascii: "]")) { scanner throws(JSONProblem) in
            var label: String?
            var since: String?
            var progress: Double?
            try scanner.object { scanner, key throws(JSONProblem) in
                if scanner.isEqual(key, to: "label") {
                    label = try scanner.text()
                } else if scanner.isEqual(key, to: "since") {
                    since = try scanner.text()
                } else if scanner.isEqual(key, to: "progress") {
                    progress = try scanner.decimal()
                } else {
                    try scanner.skipValue()
                }
            }
            guard let label, let since else { throw scanner.problem("expected a label and a time") }
            guard activities.count < 16 else { return }
            activities.append(MQTTReport.Activity(label: label, progress: progress, since: since))
        }
        return activities
    }

    /// Reads finished activities.
    fileprivate mutating func finished() throws(JSONProblem) -> [MQTTEvents.Finished] {
        var finished: [MQTTEvents.Finished] = []
        try expect(UInt8(ascii: "["))
        try elements(until: UInt8(ascii: "]")) { scanner throws(JSONProblem) in
            var label: String?
            var outcome: String?
            var message: String?
            var seconds: Double?
            try scanner.object { scanner, key throws(JSONProblem) in
                if scanner.isEqual(key, to: "label") {
                    label = try scanner.text()
                } else if scanner.isEqual(key, to: "outcome") {
                    outcome = try scanner.text()
                } else if scanner.isEqual(key, to: "message") {
                    message = try scanner.text()
                } else if scanner.isEqual(key, to: "seconds") {
                    seconds = try scanner.decimal()
                } else {
                    try scanner.skipValue()
                }
            }
            guard let label, let outcome, let seconds else {
                throw scanner.problem("expected a label, an outcome and seconds")
            }
            finished.append(
                MQTTEvents.Finished(label: label, outcome: outcome, message: message, seconds: seconds)
            )
        }
        return finished
    }
}
#endif
