/// An error of a backend that says what to do.
package protocol BackendProblem: Error, CustomStringConvertible {
    /// The problem.
    var reason: String { get }
    /// What to do, if the user can do anything.
    var help: String? { get }
}

extension BackendProblem {
    /// The problem, and what to do.
    package var description: String { help.map { "\(reason); \($0)" } ?? reason }
}

/// Why a backend cannot show something.
package struct Unavailability: BackendProblem, Sendable, Hashable {
    /// The problem.
    package var reason: String
    /// What to do.
    package var help: String?

    package init(reason: String, help: String? = nil) {
        self.reason = reason
        self.help = help
    }

    init(_ error: any Error) {
        let problem = error as? any BackendProblem
        self.init(reason: problem?.reason ?? "\(error)", help: problem?.help)
    }
}
