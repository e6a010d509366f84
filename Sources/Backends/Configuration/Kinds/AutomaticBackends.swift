/// Where the app runs, for ``BackendKind/fit``.
package struct AutomaticPlace: Sendable {
    package var applicationName: String
    package var environment: [String: String]
    /// The text that a setting of a section has, from whichever source.
    package var text: @Sendable (_ section: String, _ setting: String) -> String? = { _, _ in nil }

    package init(applicationName: String, environment: [String: String]) {
        (self.applicationName, self.environment) = (applicationName, environment)
    }
}

/// Whether `backends: auto` chooses a kind.
package struct AutomaticFit: Sendable {
    package var isChosen: Bool
    /// Why, or why not.
    package var reason: String
    /// The kinds that are not chosen if this one is, and why not.
    package var replaced: [String: String]

    package init(_ isChosen: Bool, _ reason: String, replaced: [String: String] = [:]) {
        (self.isChosen, self.reason, self.replaced) = (isChosen, reason, replaced)
    }
}

/// What `backends: auto` stands for: one backend for each place where the user may look (the terminal, the desktop, the
/// service manager), so that no two show the same, and the object on the bus, which panels read.
///
/// Each kind decides whether it fits: see ``BackendKind/fit``.
package struct AutomaticBackends: Sendable {
    /// What it is called in a config file.
    package static let name = "auto"

    /// Whether a kind is chosen, and why, in the order of the kinds.
    package let choices: [(kind: String, isChosen: Bool, reason: String)]

    /// The names of the chosen kinds.
    package var kinds: [String] { choices.filter { $0.isChosen }.map { $0.kind } }

    /// Asks the kinds of a registry.
    package init(_ registry: BackendRegistry, in place: AutomaticPlace) {
        let fits = registry.kinds.compactMap { kind in kind.fit.map { (kind: kind.name, fit: $0(place)) } }
        let replaced = fits.filter(\.fit.isChosen).reduce(into: [:]) { $0.merge($1.fit.replaced) { first, _ in first } }
        choices = fits.map { kind, fit in
            (kind, fit.isChosen && replaced[kind] == nil, replaced[kind] ?? fit.reason)
        }
    }
}
