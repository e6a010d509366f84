@testable import IndicatorCore
import TestSupport

/// What the members of a group add up to.
@Suite struct ActivityGroupTests {
    /// Members begin in a group with a total, if known, and a unit; what follows `=` is what the first group has done,
    /// of which total, and its progress.
    private static let table: Table = """
        // It counted its members: "0 of 2 B".
        A group of bytes adds up its members
            g begins - ? B | a begins g 1000 B | b begins g 3000 B = 0/4000 | a +400 | b +600 = 1000/4000 0.25
            a +600 | a ends | b total 5000 = 1600/6000 | b succeeds = 6000/6000
        // It stayed at 0.
        A group may have a total and steps itself
            g begins - 10000 B = 0/10000 | a begins g ? B | a +400 | g +100 = 500/10000 | a total 20000 = 500/20100
        The total is unknown if that of a member is
            g begins - ? lines | a begins g 10 lines | b begins g ? lines | b +3 = 3/? nil | b succeeds = 3/13
            a unit B = 3/4 | g unit B = 0/10
        A member that succeeds adds its total
            g begins - ? B | a begins g 80 B | a +50 | b begins g 20 B | b succeeds | a succeeds = 100/100
        A member that ends adds what it did
            g begins - ? B | a begins g 80 B | a +50 | a ends = 50/50
        Members of another kind are steps
            g begins - 4 files | d begins g 1000 B | d +999 | c begins g 40 files | c +10 = 10/41
            l begins g ? | l progress 0.375 = 10/42 0.270809523809524 | d ends | l fails = 12/42
        To a group of bytes, members of another kind add nothing
            g begins - ? B | c begins g ? = 0/? | d begins g 900 B | u begins g ? | u progress 0.5 = 0/900
            c ends | d succeeds | u ends = 900/900
        Groups add up in groups
            g begins - ? B | first begins g ? B | a begins first 100 B | a +10 | files begins g 4 | b begins files 50 B
            b +50 = 10/100 | files unit B | files total ? = 60/150 | b ends | files ends | a ends = 60/60
        Each member is an equal fraction, whatever its unit
            g begins - 4 | a begins g 1000 | b begins g ? | b progress 0.5 = 0.125 | a +500 = 0.25 | b ends = 0.375
            c begins g 10 B | d begins g 10 files = 0.375 | c ends | d ends | a ends = 1
        Finished members keep their unit and their total
            g begins - 4 | a begins g 5000000 B | a succeeds = 0.25 | b begins g 10 files | b +5 = 0.375
        A group that ends is one member
            g begins - ? | c begins g ? | x begins c ? | x succeeds | y begins c ? | y succeeds | l begins g 1 = 0.5
            c ends = 0.5
        Totals may be any numbers
            g begins - ? | a begins g 9223372036854775807 | a progress 0.5 = 0.5 | a progress ? = 0 | a total -1
            a unit B | b begins g 9223372036854775807 B | b +9223372036854775807 | a ends | b ends = 1
        Steps of the group itself count
            g begins - 4 | g +2 = 0.5 | c begins g ? | c succeeds = 3/4 0.75 | g progress 0.1 = 0.1
        The progress follows from the steps
            d begins - 200 B = 0/200 0 | d +50 | d +20 | d +1 = 71/200 0.355 | d total ? = 71/? nil
            d total 100 | d done 10 = 10/100 0.1 | d progress 0.5 = 0.5 | d progress ? = 0.1
        // Without a watcher, only the first step notifies the list that the activity changes.
        Steps without a total are in the next snapshot
            c begins - ? = 0/? | c +0 | c +3 = 3/? | c +4 = 7/? | c total 7 | c +9223372036854775807 = 1
        Steps stay within their range
            m begins - 10 | m +9223372036854775807 | m +9223372036854775807 = 9223372036854775807/10 1
            m done -9223372036854775808 | m -9223372036854775808 = -9223372036854775808/10 0
            m total -9223372036854775808 | m done 9223372036854775807 = nil
        A progress stays within its range
            p begins - ? | p progress -7 = 0 | p progress 7 = 1 | p progress nan = nil
        """

    @Test(arguments: table)
    func `Members add up`(sentence: String, script: String) throws {
        let manager = TestIndicator().manager
        var activities: [Substring: ManagedActivity] = [:]
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=")
            let words = sides[0].split(separator: " ")
            func unit(_ index: Int) -> ActivityUnit {
                words.count <= index ? .count : words[index] == "B" ? .bytes : ActivityUnit(String(words[index]))
            }
            if words[1] == "begins" {
                let container: ActivityContainer = activities[words[2]].map { $0 } ?? manager
                let (label, total) = (String(words[0]), words[3...].first.flatMap { Int($0) })
                activities[words[0]] = ManagedActivity(label, total: total, unit: unit(4), in: container)
            }
            let activity = try #require(activities[words[0]])
            switch words[1] {
            case "begins": break
            case "total": activity.total = Int(words[2])
            case "done": activity.completed = try #require(Int(words[2]))
            case "unit": activity.unit = unit(2)
            case "progress": activity.progress = Double(words[2])
            case "ends": activity.end()
            case "succeeds": activity.end(.succeeded)
            case "fails": activity.end(.failed("HTTP 503"))
            default: activity.advance(by: try #require(Int(words[1])))
            }
            let group = try #require(manager.snapshot.activities.first)
            for expected in sides.dropFirst().first?.split(separator: " ") ?? [] {
                if expected.contains("/") {
                    #expect(
                        "\(group.completed)/\(group.total.map { "\($0)" } ?? "?")" == expected,
                        "\(sentence): \(step)"
                    )
                } else {
                    let isEqual = abs((group.progress ?? -1) - (Double(expected) ?? -1)) < 1e-12
                    #expect(isEqual, "\(sentence): \(step): \(group.progress as Any)")
                }
            }
        }
    }

    /// After many files that were there already, it had 34 MB/s for 0.1, and 7.6 s for 499.
    @Test(arguments: [true, false], [ActivityUnit.bytes, .count])
    func `Files that were there already are no progress for the estimate`(isSet: Bool, unit: ActivityUnit) throws {
        var list = ActivityList(wallClock: WallClock(at: .zero))
        let group = ActivityRecord(label: "Group", total: unit == .count ? 200 : 20_000, unit: unit)
        list.insert(group, in: nil, at: .zero)
        var last: ActivityDetails?
        for tick in 1...150 {
            let now = Duration.milliseconds(100 * tick)
            let member = ActivityRecord(total: 100, unit: .bytes)
            list.insert(member, in: group, at: now)
            let old = member.currentDetails
            var new = old
            // Each tenth has to be fetched; the others are set, or just end.
            if tick % 10 == 0 { member.advance(by: 100) } else if isSet { new.completed = 100 }
            _ = list.merge(new, since: old, into: member)
            _ = list.hasAdvanced(member)
            _ = list.end(member, .succeeded) { now }
            last = list.activities(at: { now }, isMeasured: true).first
        }
        // One file a second, 50 are left.
        #expect(try abs(#require(last?.remaining) / .seconds(1) - 50) < 3)
        #expect(last?.rate.map { $0.rounded() } == (unit == .count ? nil : 100))
    }

    /// Random traces, checked against sums that are computed anew each time.
    @Test func `Random traces add up`() async {
        var amounts: Set<Int> = []
        await forEachSeed(300) { seed in
            var trace = GroupTrace(seed: seed)
            for step in 0..<120 {
                let description = trace.takeStep()
                if let wrong = trace.difference(&amounts) { return "step \(step), \(description): \(wrong)" }
            }
            return nil
        }
        // Traces whose groups stay empty would prove nothing.
        #expect(amounts.count > 300)
    }
}

/// A random sequence of changes of a list, and the model of its groups.
private struct GroupTrace {
    /// An activity, and its group and members in the model. What has ended is frozen.
    private final class Node {
        let record: ActivityRecord
        let isGroup: Bool
        weak var parent: Node?
        var members: [Node] = []
        var hasMembers = false
        var frozen: (done: Int, total: Int)?

        init(_ record: ActivityRecord, isGroup: Bool) {
            self.record = record
            self.isGroup = isGroup
        }

        /// By the rules of the article "Totals, groups and loops".
        var amounts: (done: Int, total: Int?) {
            let details = record.currentDetails
            var done = max(details.completed, 0)
            guard hasMembers else {
                if done == 0, let progress = details.explicitProgress, let total = details.total {
                    done = Int(Double(total) * progress)
                }
                return (done, details.total.map { max($0, done) })
            }
            var sum = done
            var isKnown = true
            var isEmpty = true
            for member in members {
                let own = member.record.currentDetails
                let part = member.frozen.map { ($0.done, Optional($0.total)) } ?? member.amounts
                if own.unit == details.unit, own.unit != .count {
                    done += part.0
                    sum += part.1 ?? part.0
                    isKnown = isKnown && part.1 != nil
                    isEmpty = isEmpty && part.1 ?? 0 == 0
                } else if details.unit != .bytes {
                    sum += 1
                    isEmpty = false
                    if member.frozen != nil { done += 1 }
                }
            }
            return (done, details.total.map { max($0, sum) } ?? (isKnown && !isEmpty ? sum : nil))
        }
    }

    private var list = ActivityList(wallClock: WallClock(at: .zero))
    private var generator: SplitMix
    private let root = Node(ActivityRecord(label: "root", unit: .bytes), isGroup: true)
    private var nodes: [Node]

    init(seed: UInt64) {
        generator = SplitMix(state: seed)
        nodes = [root]
        list.insert(root.record, in: nil, at: .zero)
    }

    private mutating func random(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &generator) }

    private mutating func unit() -> ActivityUnit { [.count, .bytes, ActivityUnit("files")][random(3)] }

    private mutating func update(_ node: Node, _ change: (inout ActivityDetails) -> Void) {
        let old = node.record.currentDetails
        var new = old
        change(&new)
        _ = list.merge(new, since: old, into: node.record)
    }

    /// Changes something. Returns its description.
    mutating func takeStep() -> String {
        let node = nodes[random(nodes.count)]
        switch random(10) {
        case 0..<3: return begin(in: node.isGroup ? node : root)
        case 3..<5:
            let amount = random(50) - 3
            node.record.advance(by: amount)
            _ = list.hasAdvanced(node.record)
            return "advance by \(amount)"
        case 5:
            let total = random(3) == 0 ? nil : random(200)
            update(node) { $0.total = total }
            return "total \(total as Any)"
        case 6:
            let unit = unit()
            update(node) { $0.unit = unit }
            return "unit \(unit.name)"
        case 7:
            let completed = random(60)
            update(node) { $0.completed = completed }
            return "completed \(completed)"
        case 8:
            guard !node.isGroup else { return "nothing" }
            let progress = random(3) == 0 ? Double(random(9)) / 8 : nil
            update(node) { $0.progress = progress }
            return "progress \(progress as Any)"
        default: return end(node)
        }
    }

    private mutating func begin(in parent: Node) -> String {
        let label = random(2) == 0 ? nil : "label"
        let isGroup = random(3) == 0
        let total = random(2) == 0 ? nil : random(100)
        let node = Node(ActivityRecord(label: label, total: total, unit: unit()), isGroup: isGroup)
        list.insert(node.record, in: parent.record, at: .zero)
        node.parent = parent
        parent.members.append(node)
        parent.hasMembers = true
        nodes.append(node)
        return "begin \(isGroup ? "group" : "member")"
    }

    private mutating func end(_ node: Node) -> String {
        guard node !== root else { return "nothing" }
        let outcome: ActivityOutcome = [.unspecified, .succeeded, .failed("x"), .cancelled][random(4)]
        let (done, total) = node.amounts
        let all = outcome == .succeeded ? total ?? done : done
        _ = list.end(node.record, outcome) { .zero }
        node.frozen = (all, all)
        for member in node.members { member.parent = nil }
        nodes.removeAll { $0 === node }
        return "end \(outcome)"
    }

    /// How the sums of a group differ from the model's; `nil` if none does.
    mutating func difference(_ amounts: inout Set<Int>) -> String? {
        _ = list.activities(at: { .zero })
        for node in nodes where node.hasMembers {
            let details = node.record.summary.details
            let expected = node.amounts
            if details.completed != expected.done || details.total != expected.total {
                return "\(details.completed) of \(details.total as Any) instead of \(expected) \(details.unit.name)"
            }
            amounts.insert(details.completed)
        }
        return nil
    }
}
