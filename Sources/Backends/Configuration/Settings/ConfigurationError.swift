import IndicatorCore

/// All mistakes in a configuration.
///
/// The ``description`` is the report to show to the user, with one line per mistake.
public struct ConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The mistakes: those in the file by position, then those in environment variables, then those in code.
    public let mistakes: [ConfigurationMistake]

    package init(_ mistakes: [ConfigurationMistake]) {
        self.mistakes = mistakes.inReadingOrder
    }

    init(_ place: ConfigurationMistake.Location, _ message: String) {
        self.init([ConfigurationMistake(place, message)])
    }

    /// One line per mistake, such as `indicator.yaml:4:1: error: unknown key 'startdelay', did you mean 'startDelay'?`;
    /// at most 100, then the number of the others.
    public var description: String {
        let shown = mistakes.prefix(100).map { $0.line(severity: "error") }
        let rest = mistakes.count - shown.count
        return (shown + (rest > 0 ? ["and \(rest) more"] : [])).joined(separator: "\n")
    }
}

/// Something wrong, or questionable, in a configuration.
public struct ConfigurationMistake: Sendable, Hashable {
    /// Where a mistake is.
    package enum Location: Sendable, Hashable, CustomStringConvertible {
        /// In a file; without a position, the file as a whole, which does not exist or is not used.
        case file(path: String, TextPosition?)
        /// In an environment variable.
        case environment(variable: String)
        /// In the values that the app set in code; `key` is the setting's full name, such as `logFile.path`.
        case code(key: String)

        /// The location as messages begin with it.
        package var description: String {
            switch self {
            case .file(let path, let position): path + (position.map { ":\($0.line):\($0.column)" } ?? "")
            case .environment(let variable): "environment variable \(variable)"
            case .code(let key): "'\(key)' as set in code"
            }
        }
    }

    /// Where it is.
    package let location: Location
    /// What was found, what was expected, and sometimes the nearest known name.
    public let message: String

    package init(_ location: Location, _ message: String) {
        self.location = location
        // It quotes the file or a variable, and is shown in terminals and logs.
        self.message = SafeText.singleLine(message, limit: 2000)
    }

    /// The mistake as a line for the user: `indicator.yaml:4:1: error: unknown key …`.
    ///
    /// - Parameter severity: `error` or `warning`.
    public func line(severity: String) -> String {
        // The path of a file may have any character in it.
        "\(QuotedText.escaped("\(location)")): \(severity): \(message)"
    }
}

extension [ConfigurationMistake] {
    /// Without duplicates: the file by position, then variables by name, then code by name.
    var inReadingOrder: Self {
        func rank(_ mistake: Element) -> (Int, Int, Int, String) {
            switch mistake.location {
            case .file(_, let position): (0, position?.line ?? 0, position?.column ?? 0, "")
            case .environment(let variable): (1, 0, 0, variable)
            case .code(let key): (2, 0, 0, key)
            }
        }
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }.sorted { rank($0) < rank($1) }
    }
}
