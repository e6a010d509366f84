/// Finds the name that somebody meant who wrote one that is not known.
enum NearestName {
    /// The nearest of `candidates`, when one is near enough to be worth suggesting: equal but for the case, or at most a
    /// third of its letters away.
    static func find(for name: String, among candidates: [String]) -> String? {
        // A long name is no slip of the finger, and the comparison below is quadratic.
        guard name.count <= 64 else { return nil }
        let folded = Array(name.lowercased().unicodeScalars)
        var best: (distance: Int, name: String)?
        for candidate in candidates where candidate != name {
            let other = Array(candidate.lowercased().unicodeScalars)
            let distance = distance(folded, other)
            guard distance <= max(1, max(folded.count, other.count) / 3), distance < max(folded.count, other.count)
            else {
                continue
            }
            if best == nil || distance < best?.distance ?? 0 { best = (distance, candidate) }
        }
        return best?.name
    }

    /// The end of a message about an unknown name: `, did you mean 'startDelay'?`, or else what there is to choose from.
    static func suggestion(for name: String, among candidates: [String], listing noun: String) -> String {
        if let nearest = find(for: name, among: candidates) { return ", did you mean '\(nearest)'?" }
        guard !candidates.isEmpty else { return "" }
        return "; \(noun): \(candidates.joined(separator: ", "))"
    }

    /// The number of single-character insertions, deletions, replacements and swaps of neighbours between two texts.
    private static func distance(_ first: [Unicode.Scalar], _ second: [Unicode.Scalar]) -> Int {
        guard !first.isEmpty, !second.isEmpty else { return max(first.count, second.count) }
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for row in 1...first.count {
            var current = [row]
            for column in 1...second.count {
                let same = first[row - 1] == second[column - 1]
                var best = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + (same ? 0 : 1))
                if row > 1, column > 1, first[row - 1] == second[column - 2], first[row - 2] == second[column - 1] {
                    best = min(best, beforePrevious[column - 2] + 1)
                }
                current.append(best)
            }
            beforePrevious = previous
            previous = current
        }
        return previous[second.count]
    }
}
