import ArgumentParser
import IndicatorBackends
package import IndicatorCore

/// A number of seconds on the command line. ``IndicatorDelays`` checks its range.
package struct Seconds: ExpressibleByArgument, Sendable, Hashable {
    var value: Double
    private var text: String

    package init?(argument: String) {
        guard let value = Double(argument) else { return nil }
        self.value = value
        text = argument
    }

    /// The duration, rounded as all delays are.
    ///
    /// - Throws: `ValidationError` with the option's name when the value is negative, infinite or not a number.
    package func duration(for setting: IndicatorDelays.Setting) throws -> Duration {
        do throws(InvalidDelayError) {
            return try IndicatorDelays.duration(ofSeconds: value, for: setting)
        } catch {
            let option = setting.rawValue.replacing(/[A-Z]/) { "-\($0.output.lowercased())" }
            throw ValidationError("'--\(option)' is '\(text)'; expected a number of seconds from 0 to 100 years")
        }
    }
}

/// The delays on the command line, which override those of other sources.
package struct DelayOverrides: Sendable, Hashable {
    var startDelay: Duration?
    var completionDelay: Duration?
    var minimumVisibleTime: Duration?

    /// Overrides nothing.
    package init() {}

    /// Creates overrides from the given options.
    ///
    /// - Throws: `ValidationError` with the name of the invalid option.
    package init(startDelay: Seconds?, completionDelay: Seconds?, minimumVisibleTime: Seconds? = nil) throws {
        self.startDelay = try startDelay?.duration(for: .startDelay)
        self.completionDelay = try completionDelay?.duration(for: .completionDelay)
        self.minimumVisibleTime = try minimumVisibleTime?.duration(for: .minimumVisibleTime)
    }

    var isEmpty: Bool { self == Self() }

    /// Returns the delays with these overrides.
    package func applied(to delays: IndicatorDelays) throws(InvalidDelayError) -> IndicatorDelays {
        try IndicatorDelays(
            startDelay: startDelay ?? delays.startDelay,
            completionDelay: completionDelay ?? delays.completionDelay,
            minimumVisibleTime: minimumVisibleTime ?? delays.minimumVisibleTime
        )
    }
}
