#if MQTT
import Foundation
package import IndicatorCore
import IndicatorThreads

/// The topics of one indicator: `indicator/1/<host>/<app>/<instance>`, and the same with `/events`.
package struct MQTTTopic: Sendable, Hashable {
    /// What all begin with.
    package var prefix: String
    /// The name of the machine.
    package var host: String
    /// The name of the app.
    package var app: String
    /// What tells the processes of one app on one machine apart.
    package var instance: String

    /// Makes the topics of an indicator. What is long is cut, and what is empty becomes `-`.
    package init(prefix: String, host: String, app: String, instance: String) {
        self.prefix = prefix
        self.host = Self.bounded(host)
        self.app = Self.bounded(app)
        self.instance = Self.bounded(instance)
    }

    /// Whether two topics are the same for a broker, which compares bytes.
    package static func == (left: Self, right: Self) -> Bool {
        left.names.elementsEqual(right.names) { $0.utf8.elementsEqual($1.utf8) }
    }

    package func hash(into hasher: inout Hasher) {
        for var name in names { name.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) } }
    }

    private var names: [String] { [prefix, host, app, instance] }

    private static func bounded(_ name: String) -> String {
        name.isEmpty ? "-" : String(name.unicodeScalars.prefix(128))
    }

    /// The level of a topic that stands for a host or an app.
    static func level(_ name: String) -> String { escaped(bounded(name)) }

    /// Reads a topic. Returns whether it is that of the events, or `nil` when it is a stranger's.
    package static func parse(_ text: String, prefix: String) -> (topic: Self, isEvents: Bool)? {
        // By bytes: a slash and the accent that follows it are one character in Swift.
        let start = Array((prefix + "/").utf8)
        guard text.utf8.starts(with: start) else { return nil }
        let levels = text.utf8.dropFirst(start.count).split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        .map { String(Substring($0)) }
        guard levels.count == 3 || (levels.count == 4 && levels[3] == "events"), !levels.contains("") else {
            return nil
        }
        // What is not escaped as this package escapes it is not of this package.
        let names = levels.prefix(3).compactMap { $0.removingPercentEncoding }
        guard names.count == 3 else { return nil }
        let topic = Self(prefix: prefix, host: names[0], app: names[1], instance: names[2])
        let isEvents = levels.count == 4
        guard (isEvents ? topic.events : topic.state).utf8.elementsEqual(text.utf8) else { return nil }
        return (topic, isEvents)
    }

    /// The topic of the state.
    package var state: String { "\(prefix)/\(Self.escaped(host))/\(Self.escaped(app))/\(Self.escaped(instance))" }

    /// The topic of what has finished.
    package var events: String { state + "/events" }

    /// A level of a topic: `/`, `+`, `#`, `$`, `%` and what brokers reject (control characters, noncharacters) becomes
    /// `%2F` and so on.
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if "/+#$%".unicodeScalars.contains(scalar) || scalar.properties.generalCategory == .control
                || scalar.properties.isNoncharacterCodePoint
            {
                result += String(scalar).utf8.map {
                    "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true)
                }
                .joined()
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// What is wrong with the beginning of topics; `nil` if nothing is.
    package static func problem(withPrefix prefix: String) -> String? {
        let isValid =
            prefix.utf8.count <= 256 && !prefix.hasPrefix("$")
            && prefix.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { level in
                !level.isEmpty
                    && level.unicodeScalars.allSatisfy { $0 == "$" || $0 == "%" || escaped("\($0)") == "\($0)" }
            }
        return isValid ? nil : "the beginning of topics, such as indicator/1, without '+' and '#'"
    }
}

/// The state of an indicator as a message.
package struct MQTTReport: Codable, Sendable, Hashable {
    /// An activity that has a label.
    package struct Activity: Codable, Sendable, Hashable {
        package var label: String
        package var progress: Double?
        package var since: String
    }

    /// An ``IndicatorState``, or `lost`.
    package var state: String
    package var visible: Bool?
    package var count: Int?
    package var label: String?
    package var progress: Double?
    package var attention: String?
    package var activities: [Activity]?
    /// The number of the connection on which the instance has sent it: 1, 2, …
    package var epoch: Int
    /// When the indicator was shown or hidden, by the clock of its machine (RFC 3339).
    package var since: String?
    /// The number of the message among those of the connection: 1, 2, …
    package var seq: Int?

    /// After how many seconds a state is sent again, also if it has not changed. A watcher that hears nothing for one
    /// and a half times as long takes the indicator for lost.
    package static let refreshInterval: UInt32 = 600
    /// After how many seconds the broker forgets a state that nobody has sent again.
    package static let stateExpiry: UInt32 = 1800
    /// After how many seconds the broker forgets that an indicator was lost: a week.
    package static let lostExpiry: UInt32 = 604_800

    /// What is left of an instance that has gone without a farewell.
    package static func lost(epoch: Int) -> Self { Self(state: "lost", epoch: epoch) }

    private init(state: String, epoch: Int) {
        self.state = state
        self.epoch = epoch
    }

    /// The report of a snapshot. Texts are one line without control characters, of at most 256 Unicode scalars.
    package init(_ snapshot: IndicatorSnapshot, epoch: Int, seq: Int) {
        self.init(state: snapshot.state.rawValue, epoch: epoch)
        visible = snapshot.isVisible
        count = snapshot.activityCount
        label = snapshot.label.map(Self.text)
        progress = snapshot.progress.map(Self.rounded)
        attention = snapshot.attention.map(Self.text)
        activities = snapshot.activities.compactMap { details in
            details.label.map {
                Activity(
                    label: Self.text($0),
                    progress: details.progress.map(Self.rounded),
                    since: Self.time(details.since)
                )
            }
        }
        since = Self.time(snapshot.since)
        self.seq = seq
    }

    /// Reads a message; `nil` when it is a stranger's.
    package init?(_ payload: UnsafeRawBufferPointer) {
        guard payload.count <= Self.longestPayload,
            let report = try? JSONDecoder().decode(Self.self, from: Data(payload)),
            report.state == "lost" || IndicatorState(rawValue: report.state) != nil
        else { return nil }
        self = report
        // A stranger's may be long, and a watcher keeps many.
        (label, attention) = (label.map(Self.text), attention.map(Self.text))
        since = since.map(Self.text)
        activities = activities?.prefix(16).map {
            Activity(label: Self.text($0.label), progress: $0.progress, since: Self.text($0.since))
        }
    }

    /// The longest message that is read, in bytes. The longest that is sent has about half of that.
    static let longestPayload = 65536

    package var payload: [UInt8] { Self.encoded(self) }

    fileprivate static func text(_ text: String) -> String { DisplayText.singleLine(text, limit: 256) }

    fileprivate static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }

    private static func time(_ date: Date) -> String {
        var bytes: [UInt8] = []
        LogTimestamp(date).append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    fileprivate static func encoded(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map(Array.init) ?? []
    }
}

/// What has finished, as a message.
package struct MQTTEvents: Codable, Sendable, Hashable {
    /// A labelled activity that has ended.
    package struct Finished: Codable, Sendable, Hashable {
        package var label: String
        /// `unspecified`, `succeeded`, `failed` or `cancelled`.
        package var outcome: String
        package var message: String?
        package var seconds: Double

        init(_ activity: FinishedActivity) {
            label = MQTTReport.text(activity.label)
            seconds = MQTTReport.rounded(Double(activity.duration.wholeNanoseconds) / 1e9)
            switch activity.outcome {
            case .unspecified: outcome = "unspecified"
            case .succeeded: outcome = "succeeded"
            case .cancelled: outcome = "cancelled"
            case .failed(let text): (outcome, message) = ("failed", MQTTReport.text(text))
            }
        }
    }

    package var epoch: Int
    package var finished: [Finished]
    /// How many more have ended.
    package var omitted: Int?

    /// Reads a message; `nil` when it is a stranger's.
    package init?(_ payload: UnsafeRawBufferPointer) {
        guard payload.count <= MQTTReport.longestPayload,
            let events = try? JSONDecoder().decode(Self.self, from: Data(payload))
        else { return nil }
        self = events
    }

    init(epoch: Int, finished: [Finished], omitted: Int) {
        self.epoch = epoch
        self.finished = finished
        self.omitted = omitted == 0 ? nil : omitted
    }

    package var payload: [UInt8] { MQTTReport.encoded(self) }
}
#endif
