import TestSupport

/// Steps of activities, and what the indicator lists then: `G begins | a in G = 1 G +a | a now | G ends = 1 now`.
///
/// - `NAME begins` and `NAME in GROUP`, with the name as the label, unless that begins with `-`;
/// - `NAME LABEL`, where `-` is none; `NAME ends`; `NAME released`, which ends it, too;
/// - `start ID`, `start ID LABEL`, `update ID LABEL`, `stop ID`; one with `#` is a number, one with `@` a UUID;
/// - `+` and `-`, which change the anonymous count.
///
/// After `=` are the count, and the labels of the snapshot, each with a `+` for each group above it.
func runActivities(_ script: String, on manager: IndicatorManager, _ sentence: String) throws {
    var activities: [Substring: ManagedActivity] = [:]
    for step in script.split(whereSeparator: { "|\n".contains($0) }) {
        let sides = step.split(separator: "=", omittingEmptySubsequences: false)
        let words = sides[0].split(separator: " ")
        let label = words.last == "-" ? nil : words.last.map(String.init)
        switch (words[0], words.dropFirst().first) {
        case ("+", _): manager.incrementActivityCount()
        case ("-", _): manager.decrementActivityCount()
        case ("start", let id?): manager.start(identity(id), label: words.count > 2 ? label : nil)
        case ("update", let id?): manager.update(identity(id)) { $0.label = label }
        case ("stop", let id?): manager.stop(identity(id))
        case (let name, "begins"): activities[name] = ManagedActivity(name.label, in: manager)
        case (let name, "in"): activities[name] = ManagedActivity(name.label, in: try #require(activities[words[2]]))
        case (let name, "ends"): activities[name]?.end()
        case (let name, "released"): activities[name] = nil
        case (let name, _): activities[name]?.label = label
        }
        guard sides.count > 1 else { continue }
        let snapshot = manager.snapshot
        let listed = snapshot.activities.map { String(repeating: "+", count: $0.depth) + ($0.label ?? "") }
        let expected = sides[1].split(separator: " ").map(String.init)
        #expect(["\(manager.activityCount)"] + listed == expected, "\(sentence): \(step)")
        #expect(snapshot.activityCount == manager.activityCount && snapshot.label == listed.first)
        #expect(Set(snapshot.activities.map(\.id)).count == listed.count)
    }
}

private func identity(_ word: Substring) -> any Hashable & Sendable {
    switch word.first {
    case "#": Int(word.dropFirst()) ?? 0
    case "@": UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(word.dropFirst()) ?? 0))
    default: String(word)
    }
}

extension Substring {
    fileprivate var label: String? { hasPrefix("-") ? nil : String(self) }
}
