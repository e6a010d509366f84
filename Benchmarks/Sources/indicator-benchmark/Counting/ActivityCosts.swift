import Foundation

/// The costs of activities other than time, counted by a separate process.
enum ActivityCosts {
    static let memoryNames = ["bytes-per-activity", "bytes-per-identified-activity", "bytes-per-labelled-activity"]
    static let allocationsName = "allocations-begin-end"

    static func countBytes(_ scale: Scale) throws -> [Figure] {
        let count = scale.liveActivities
        let numbers = try Self.numbers("bytes", count)
        let identified = numbers.filter { $0.name.hasPrefix("identified") }
        guard let plain = numbers.first(where: { $0.name == "activity" }), let most = identified.map(\.value).max(),
            let labelled = numbers.first(where: { $0.name == "labelled" })
        else {
            throw Child.Failure(description: "activity-probe did not print the bytes")
        }
        let unit = "bytes"
        return [
            Figure(
                name: memoryNames[0],
                title: "heap memory of an activity, excluding its handle",
                goal: 16,
                outcome: .count(plain.value, unit: unit),
                detail: "\(Decimals.grouped(count)) in progress"
            ),
            Figure(
                name: memoryNames[1],
                title: "heap memory of an activity with an identity, excluding the identity",
                goal: 160,
                outcome: .count(most, unit: unit),
                detail: identified.map { "\($0.name): \(Decimals.count($0.value))" }.joined(separator: ", ")
                    + ", \(Decimals.grouped(count)) in progress"
            ),
            Figure(
                name: memoryNames[2],
                title: "heap memory of an activity with a label, excluding the label",
                goal: 200,
                outcome: .count(labelled.value, unit: unit),
                detail: "\(Decimals.grouped(count)) in progress"
            ),
        ]
    }

    static func countAllocations(_ scale: Scale) throws -> Figure {
        let numbers = try Self.numbers("allocations", scale.countedPairs)
        guard let check = numbers.first(where: { $0.name == "check" }), check.value >= 100, numbers.count > 1 else {
            throw Child.Failure(description: "activity-probe cannot count allocations")
        }
        let counts = numbers.dropFirst()
        return Figure(
            name: allocationsName,
            title: "heap allocations of begin and end, without a label",
            goal: 0,
            outcome: .count(counts.map(\.value).max() ?? 0, unit: "in \(Decimals.grouped(scale.countedPairs))"),
            detail: counts.map { "\($0.name): \(Decimals.count($0.value))" }.joined(separator: ", ")
        )
    }

    /// The names and numbers that activity-probe prints.
    private static func numbers(_ command: String, _ count: Int) throws -> [(name: String, value: Double)] {
        let lines = try Child(sibling: "activity-probe", [command, "\(count)"]).finish()
        return lines.compactMap { line in
            guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else {
                return nil
            }
            return (String(line[..<space]), value)
        }
    }
}
