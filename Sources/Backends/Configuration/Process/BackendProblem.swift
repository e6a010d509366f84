/// An error of a backend that says what to do: users read both parts.
public protocol BackendProblem: Error, CustomStringConvertible {
    /// The problem.
    var reason: String { get }
    /// What to do, if the user can do anything.
    var help: String? { get }
}

extension BackendProblem {
    /// The problem, and what to do.
    public var description: String { help.map { "\(reason); \($0)" } ?? reason }
}

/// Why a backend cannot show something, and what to do: the tables of `indicator backends` have both.
///
/// ```swift
/// throw Unavailability(reason: "there is no LED at '\(path)'", help: "list those of this machine: ls /sys/class/leds")
/// ```
public struct Unavailability: BackendProblem, Sendable, Hashable {
    /// The problem.
    public var reason: String
    /// What to do, if the user can do anything.
    public var help: String?

    /// Makes an error.
    public init(reason: String, help: String? = nil) {
        self.reason = reason
        self.help = help
    }
}
