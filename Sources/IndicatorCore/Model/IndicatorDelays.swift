/// The three times that govern when the indicator is shown and hidden.
///
/// Each is rounded to the nearest microsecond. One that is negative or longer than 100 years is invalid and never takes
/// effect: the initializer throws ``InvalidDelayError``, and a property keeps its value.
public struct IndicatorDelays: Sendable, Hashable {
    /// The names of the settings in the config file and in errors.
    package enum Setting: String, Sendable, Hashable, CaseIterable {
        case startDelay, completionDelay, minimumVisibleTime
    }

    /// How long work must last before the indicator is shown. Default 1 second, as in Alamofire's manager.
    public var startDelay = Duration.seconds(1) { didSet { startDelay = Self.valid(startDelay) ?? oldValue } }
    /// How long there must be no work before the indicator is hidden. Default 0.2 seconds, as in Alamofire's manager.
    public var completionDelay = Duration.milliseconds(200) {
        didSet { completionDelay = Self.valid(completionDelay) ?? oldValue }
    }
    /// The minimum time that the indicator is visible. Default zero.
    public var minimumVisibleTime = Duration.zero {
        didSet { minimumVisibleTime = Self.valid(minimumVisibleTime) ?? oldValue }
    }

    /// The defaults: 1 second, 0.2 seconds, zero.
    public static var standard: Self { Self() }

    private init() {}

    /// Makes delays from durations.
    ///
    /// - Throws: ``InvalidDelayError`` that names the setting, when one is negative or longer than 100 years.
    public init(
        startDelay: Duration = .seconds(1),
        completionDelay: Duration = .milliseconds(200),
        minimumVisibleTime: Duration = .zero
    ) throws(InvalidDelayError) {
        func checked(_ delay: Duration, _ setting: Setting) throws(InvalidDelayError) -> Duration {
            guard let rounded = Self.valid(delay) else { throw InvalidDelayError(setting: setting, value: "\(delay)") }
            return rounded
        }
        self.startDelay = try checked(startDelay, .startDelay)
        self.completionDelay = try checked(completionDelay, .completionDelay)
        self.minimumVisibleTime = try checked(minimumVisibleTime, .minimumVisibleTime)
    }

    /// The delay, rounded; `nil` if it is invalid.
    private static func valid(_ delay: Duration) -> Duration? {
        guard delay >= .zero, delay <= TimeSource.longest else { return nil }
        return .microseconds((delay.wholeNanoseconds + 500) / 1000)
    }
}

/// A delay that is negative, infinite, not a number, or longer than 100 years.
public struct InvalidDelayError: Error, Sendable, Hashable, CustomStringConvertible {
    package let setting: IndicatorDelays.Setting
    /// The rejected value, as text.
    package let value: String

    package init(setting: IndicatorDelays.Setting, value: String) {
        self.setting = setting
        self.value = value
    }

    /// The setting, the value, and the valid range.
    public var description: String {
        "\(setting.rawValue) is \(value); it must be zero or more, finite, and at most 100 years"
    }
}
