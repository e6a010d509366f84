import ArgumentParser
import IndicatorBackends
package import IndicatorCore

/// A number of seconds on the command line.
package struct Seconds: ExpressibleByArgument, Sendable, Hashable {
    private var text: String

    package init?(argument: String) {
        guard Double(argument) != nil else { return nil }
        text = argument
    }

    /// The duration, as in the config file.
    ///
    /// - Throws: `ValidationError` with the option's name when the value is negative, infinite or not a number.
    package func duration(for setting: IndicatorDelays.Setting) throws -> Duration {
        if let time = BackendSettingValue.string(text).seconds { return time }
        let option = setting.rawValue.replacing(/[A-Z]/) { "-\($0.output.lowercased())" }
        throw ValidationError("'--\(option)' is '\(text)'; expected a number of seconds, zero or more")
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
