public import Foundation

/// The details of an activity. A property that is `nil` is unknown or not set.
///
/// Texts are made safe when they are set, by ``SafeText/singleLine(_:limit:)``: they are one line of at most
/// ``SafeText/limit`` characters, without control characters, and can be printed as they are.
public struct ActivityDetails: Sendable, Hashable {
    /// Identifies the activity in the snapshots of its indicator, from 1; 0 in details that an app has made.
    public package(set) var id: UInt64 = 0

    /// In how many groups with a label it is nested; its group precedes it in ``IndicatorSnapshot/activities``.
    public package(set) var depth = 0

    /// The recent rate in ``unit``s per second; `nil` while unknown. It is measured when a snapshot is published, so
    /// only while a backend or a subscriber observes the indicator.
    public package(set) var rate: Double?

    /// The estimated time left; `nil` while unknown. Computed from the rate of what is done.
    public package(set) var remaining: Duration?

    /// Whether a group fails because one of its members did. Default `false`.
    public var failsWithMembers = false

    /// A short text of what is in progress. An empty one counts as none. Backends report the end of an activity only if
    /// it has a label then.
    public var label: String? {
        didSet { label = Self.safe(label) }
    }

    /// How much of ``total`` is done. Default 0. ``Activity/advance(by:)`` adds to it; so does `completed += 1`, which
    /// takes the indicator's lock twice.
    public var completed: Int = 0

    /// The total amount of work, in ``unit``s; `nil`, the default, if unknown.
    public var total: Int?

    /// What ``completed`` and ``total`` count. Default ``ActivityUnit/count``.
    public var unit: ActivityUnit = .count

    /// A short text that bars show behind the numbers, such as "3 failed".
    public var detail: String? {
        didSet { detail = Self.safe(detail) }
    }

    /// What the activity asks the user for while it waits for an answer, such as "Passphrase?".
    public var attention: String? {
        didSet { attention = Self.safe(attention) }
    }

    /// Whether it waits for its turn, such as for a connection or before a retry. Bars show the activities that run
    /// first, and count those that wait. Default `false`.
    public var isWaiting = false

    /// When the activity began, by the wall clock. For one that began without details, when the first one was set.
    public package(set) var since: Date

    /// The same as ``since``, as of `ServiceThread.now`; `nil` in details that an app has made, or with another clock.
    package var sinceUptime: Int64?

    /// How long the activity has lasted, in seconds: on the clock of the delays, so that a step of the wall clock, or a
    /// suspend of the machine, does not count. By the wall clock if only that is known.
    package func elapsed(at now: Date) -> TimeInterval {
        sinceUptime.map { Double(ServiceThread.now - $0) / 1e9 } ?? now.timeIntervalSince(since)
    }

    /// The value of ``progress``, if it was set.
    private(set) var explicitProgress: Double?

    /// How much is done, 0…1: the value that was set, else ``completed`` of ``total``; `nil` if neither is known.
    ///
    /// Values are limited to 0…1; NaN counts as `nil`.
    public var progress: Double? {
        get {
            if let explicitProgress { return explicitProgress }
            guard let total, total > 0 else { return nil }
            return min(max(Double(completed) / Double(total), 0), 1)
        }
        set { explicitProgress = Self.limited(newValue) }
    }

    /// Makes the details of an activity.
    ///
    /// - Parameters:
    ///   - label: a short text of what is in progress.
    ///   - progress: how much is done, 0…1.
    ///   - total: how much there is to do, in `unit`s.
    ///   - unit: what `total` counts.
    ///   - since: when it began. Default: now.
    public init(
        label: String? = nil,
        progress: Double? = nil,
        total: Int? = nil,
        unit: ActivityUnit = .count,
        since: Date = Date()
    ) {
        self.init(safeLabel: Self.safe(label), progress: Self.limited(progress), total: total, unit: unit, since: since)
    }

    /// Makes the details from what is safe already.
    init(
        safeLabel: String?,
        detail: String? = nil,
        attention: String? = nil,
        progress: Double?,
        total: Int?,
        unit: ActivityUnit,
        since: Date
    ) {
        (label, self.detail, self.attention) = (safeLabel, detail, attention)
        (explicitProgress, self.total, self.unit, self.since) = (progress, total, unit, since)
    }

    static func limited(_ progress: Double?) -> Double? {
        progress.flatMap { $0.isNaN ? nil : min(max($0, 0), 1) }
    }

    /// A text that is safe to show; `nil` if it is empty.
    package static func safe(_ text: String?) -> String? {
        guard let text else { return nil }
        let safe = SafeText.singleLine(text)
        return safe.isEmpty ? nil : safe
    }
}

/// The unit of an activity's steps.
public struct ActivityUnit: Sendable, Hashable {
    /// The name in the plural, as in "12 of 40 files": one line of at most 20 characters, made safe like a label. Empty
    /// for ``count``.
    public var name: String {
        didSet { name = Self.safe(name) }
    }

    /// Makes a custom unit.
    ///
    /// - Parameter name: its name in the plural.
    public init(_ name: String) {
        self.name = Self.safe(name)
    }

    private static func safe(_ name: String) -> String { SafeText.singleLine(name, limit: 20) }

    /// Unnamed items: "12 of 40".
    public static let count = Self("")
    /// Bytes: "12.3 of 40.0 MB".
    public static let bytes = Self("bytes")
}
