import BackendConfiguration
package import IndicatorCore
import Foundation

/// The topics of one indicator: `indicator/1/<host>/<app>/<instance>`, and the same with `/events` and `/lost`.
package struct MQTTTopic: Sendable, Hashable {
    /// What is published at a topic.
    package enum Content: String, Sendable {
        case state = ""
        /// Finished activities.
        case events = "/events"
        /// The will.
        case lost = "/lost"
    }

    /// The prefix of all topics.
    package var prefix: String
    /// The name of the machine.
    package var host: String
    /// The name of the app.
    package var app: String
    /// Distinguishes the processes of one app on one machine.
    package var instance: String

    /// Creates the topics of an indicator. Long names are truncated; an empty name becomes `-`.
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

    /// The topic level of a host or an app.
    package static func level(_ name: String) -> String { escaped(bounded(name)) }

    /// Parses a topic. Returns `nil` for one that is not an indicator's.
    package static func parse(_ text: String, prefix: String) -> (topic: Self, content: Content)? {
        // By bytes: a slash with a combining accent is one `Character`.
        let start = Array((prefix + "/").utf8)
        guard text.utf8.starts(with: start) else { return nil }
        let levels = text.utf8.dropFirst(start.count).split(
            separator: UInt8(ascii: "/"),
            omittingEmptySubsequences: false
        )
        .map { String(Substring($0)) }
        guard (3...4).contains(levels.count), !levels.contains(""),
            let content = Content(rawValue: levels.count == 3 ? "" : "/" + levels[3])
        else { return nil }
        // A topic that is escaped differently does not come from this package.
        let names = levels.prefix(3).compactMap { $0.removingPercentEncoding }
        guard names.count == 3 else { return nil }
        let topic = Self(prefix: prefix, host: names[0], app: names[1], instance: names[2])
        guard topic.text(content).utf8.elementsEqual(text.utf8) else { return nil }
        return (topic, content)
    }

    /// The topic of the state.
    package var state: String { text(.state) }
    /// The topic of finished activities.
    package var events: String { text(.events) }
    /// The topic of the will.
    package var lost: String { text(.lost) }

    private func text(_ content: Content) -> String {
        ([prefix] + [host, app, instance].map(Self.escaped)).joined(separator: "/") + content.rawValue
    }

    /// Escapes a topic level: `/`, `+`, `#`, `$`, `%` and what brokers reject become `%2F` and so on: control
    /// characters, noncharacters, and what has a meaning in a subject of NATS (`.`, `*`, `>` and space).
    package static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if "/+#$%.*> ".unicodeScalars.contains(scalar) || scalar.properties.generalCategory == .control
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

    /// What an invalid prefix should be; `nil` if it is valid.
    package static func problem(withPrefix prefix: String) -> String? {
        let isValid =
            prefix.utf8.count <= 256 && !prefix.hasPrefix("$")
            && prefix.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { level in
                !level.isEmpty
                    && level.unicodeScalars.allSatisfy { $0 == "$" || $0 == "%" || escaped("\($0)") == "\($0)" }
            }
        return isValid ? nil : "a prefix of topics such as indicator/1, without '+', '#', '.' and spaces"
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

    /// An ``IndicatorState``; `lost` in a will.
    package var state: String
    package var visible: Bool?
    package var count: Int?
    package var label: String?
    package var progress: Double?
    package var attention: String?
    package var activities: [Activity]?
    /// The number of the instance's connection: 1, 2, …
    package var epoch: Int
    /// When the indicator was shown or hidden, by the sender's clock (RFC 3339).
    package var since: String?
    /// The number of the message on that connection: 1, 2, …
    package var seq: Int?
    /// The seconds after which the state is sent again if it is unchanged; `nil` for ``standardRefresh``.
    package var refresh: Int?

    /// The seconds after which an unchanged state is sent again.
    package static let standardRefresh = 600
    /// The same with MQTT 3.1.1, where no state expires.
    package static let shortRefresh = 60
    /// The seconds after which a state expires on the broker unless it is sent again.
    package var expiry: Int { 3 * (refresh ?? Self.standardRefresh) }
    /// The seconds without a message after which a watcher treats the indicator as lost.
    package var longestSilence: Int { expiry / 2 }
    /// The seconds after which a `lost` report expires on the broker: a week.
    package static let lostExpiry: UInt32 = 604_800

    /// The report of an instance that ended without disconnecting.
    package static func lost(epoch: Int) -> Self { Self(state: "lost", epoch: epoch) }

    package init(state: String, epoch: Int) { (self.state, self.epoch) = (state, epoch) }

    /// The report of a snapshot. Texts are one line without control characters, of at most 256 Unicode scalars.
    package init(_ snapshot: IndicatorSnapshot, epoch: Int, seq: Int, refresh: Int = standardRefresh) {
        self.init(state: snapshot.state.rawValue, epoch: epoch)
        visible = snapshot.isVisible
        count = snapshot.activityCount
        label = snapshot.label.map(Self.text)
        progress = snapshot.progress.map(Self.rounded)
        attention = snapshot.attention.map(Self.text)
        activities = snapshot.shownActivities.compactMap { details in
            details.label.map {
                Activity(
                    label: Self.text($0),
                    progress: details.progress.map(Self.rounded),
                    since: LogTimestamp(details.since).text
                )
            }
        }
        since = LogTimestamp(snapshot.since).text
        self.seq = seq
        self.refresh = refresh == Self.standardRefresh ? nil : refresh
    }

    /// The longest message that is decoded, in bytes. The longest that is sent is about half as long.
    package static let longestPayload = 65536

    package var payload: [UInt8] { Self.encoded(self) }

    package static func text(_ text: String) -> String { SafeText.singleLine(text, limit: 256) }

    fileprivate static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }

    static func encoded(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(value)).map(Array.init) ?? []
    }
}

/// Finished activities as a message.
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
            outcome = activity.outcome.name
            message = activity.outcome.message.map(MQTTReport.text)
            seconds = MQTTReport.rounded(activity.duration / .seconds(1))
        }
    }

    package var epoch: Int
    package var finished: [Finished]
    /// How many more have finished.
    package var omitted: Int?

    init(epoch: Int, finished: [Finished], omitted: Int) {
        (self.epoch, self.finished, self.omitted) = (epoch, finished, omitted == 0 ? nil : omitted)
    }

    package var payload: [UInt8] { MQTTReport.encoded(self) }
}

// MARK: - Decoding

/// Why a message is not one of an indicator.
package struct MQTTPayloadProblem: Error, CustomStringConvertible {
    package var description: String

    package init(_ description: String) { self.description = description }

    fileprivate static let numberOutOfRange = Self("it has a number that is out of range")

    private init(_ error: DecodingError, _ payload: Data) {
        func name(_ path: [any CodingKey]) -> String { "'\(path.map(\.stringValue).joined(separator: "."))'" }
        switch error {
        case .keyNotFound(let key, _): self.init("it has no \(name([key]))")
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            self.init(
                context.codingPath.isEmpty ? "it is not an object" : "its \(name(context.codingPath)) has another type"
            )
        // JSON with a number that its type cannot have.
        case .dataCorrupted where (try? JSONSerialization.jsonObject(with: payload)) != nil: self = .numberOutOfRange
        default: self.init("it is not JSON")
        }
    }

    private static let decoder = JSONDecoder()

    /// Decodes a message. `JSONDecoder` ignores members that it does not know, such as those of a later version.
    fileprivate static func decoded<Value: Decodable>(
        _ payload: UnsafeRawBufferPointer
    ) throws(Self) -> Value {
        guard payload.count <= MQTTReport.longestPayload else {
            throw Self("it is longer than \(MQTTReport.longestPayload) bytes")
        }
        let payload = Data(payload)
        do {
            return try decoder.decode(Value.self, from: payload)
        } catch let error as DecodingError {
            throw Self(error, payload)
        } catch {
            throw Self("it is not JSON")
        }
    }
}

extension MQTTReport {
    /// Decodes a state or a will. Long texts and lists are truncated: a watcher keeps many reports.
    package init(_ payload: UnsafeRawBufferPointer) throws(MQTTPayloadProblem) {
        self = try MQTTPayloadProblem.decoded(payload)
        guard state == "lost" || IndicatorState(rawValue: state) != nil else {
            throw MQTTPayloadProblem("its state is '\(Self.text(state))', which is not known")
        }
        let progress = [progress] + (activities ?? []).map(\.progress)
        guard epoch > 0, seq ?? 1 > 0, count ?? 0 >= 0, (1...86400).contains(refresh ?? 1),
            progress.allSatisfy({ (0...1).contains($0 ?? 0) })
        else { throw MQTTPayloadProblem.numberOutOfRange }
        (label, attention) = (label.map(Self.text), attention.map(Self.text))
        since = since.map(Self.text)
        activities = activities?.prefix(16).map {
            Activity(label: Self.text($0.label), progress: $0.progress, since: Self.text($0.since))
        }
    }
}

extension MQTTEvents {
    /// Decodes finished activities.
    package init(_ payload: UnsafeRawBufferPointer) throws(MQTTPayloadProblem) {
        self = try MQTTPayloadProblem.decoded(payload)
        let outcomes = ["unspecified", "succeeded", "failed", "cancelled"]
        guard epoch > 0, omitted ?? 0 >= 0,
            finished.allSatisfy({ outcomes.contains($0.outcome) && $0.seconds >= 0 && $0.seconds.isFinite })
        else { throw MQTTPayloadProblem("it has an outcome or a number that is not known") }
        for index in finished.indices {
            finished[index].label = MQTTReport.text(finished[index].label)
            finished[index].message = finished[index].message.map(MQTTReport.text)
        }
    }
}
