import Foundation
import IndicatorTesting
import IndicatorThreads
import TestSupport
import Testing

@testable import IndicatorCore

/// What the members of a group add up to.
@Suite struct ActivityGroupTests {
    private let manager = TestIndicator().manager

    private var group: ActivityDetails { manager.snapshot.activities.first ?? ActivityDetails() }

    private var amounts: String { "\(group.completed) of \(group.total.map { "\($0)" } ?? "?")" }

    /// It counted its members: "0 of 2 B".
    @Test func `A group of bytes adds up its members`() {
        manager.withActivity("Downloading", unit: .bytes) { group in
            let first = group.begin("a.iso", total: 1000, unit: .bytes)
            let second = group.begin("b.iso", total: 3000, unit: .bytes)
            #expect(amounts == "0 of 4000")
            first.advance(by: 400)
            second.advance(by: 600)
            #expect(amounts == "1000 of 4000")
            #expect(manager.snapshot.progress == 0.25)
            first.advance(by: 600)
            first.end()
            second.total = 5000
            #expect(amounts == "1600 of 6000")
            second.end(.succeeded)
            #expect(amounts == "6000 of 6000")
        }
    }

    /// It stayed at 0.
    @Test func `A group may have a total itself`() {
        manager.withActivity("Downloading", total: 10_000, unit: .bytes) { group in
            #expect(amounts == "0 of 10000")
            let first = group.begin("a.iso", unit: .bytes)
            first.advance(by: 400)
            // Its own steps count, too.
            group.advance(by: 100)
            #expect(amounts == "500 of 10000")
            first.total = 20_000
            #expect(amounts == "500 of 20100")
        }
    }

    @Test func `The total is unknown if that of a member is`() {
        manager.withActivity("Reading", unit: ActivityUnit("lines")) { group in
            let first = group.begin("a", total: 10, unit: ActivityUnit("lines"))
            let second = group.begin("b", unit: ActivityUnit("lines"))
            second.advance(by: 3)
            #expect(amounts == "3 of ?")
            #expect(manager.snapshot.progress == nil)
            second.end(.succeeded)
            #expect(amounts == "3 of 13")
            first.unit = .bytes
            #expect(amounts == "3 of 4")
            group.unit = .bytes
            #expect(amounts == "0 of 10")
        }
    }

    @Test(
        arguments: [
            (.succeeded, "100 of 100"), (.unspecified, "70 of 70"), (.failed("HTTP 503"), "70 of 70"),
            (.cancelled, "70 of 70"),
        ] as [(ActivityOutcome, String)]
    )
    func `An ended member adds its total or what it did`(outcome: ActivityOutcome, expected: String) {
        manager.withActivity("Downloading", unit: .bytes) { group in
            let member = group.begin("a", total: 80, unit: .bytes)
            member.advance(by: 50)
            group.begin("b", total: 20, unit: .bytes).end(.succeeded)
            member.end(outcome)
            #expect(amounts == expected)
        }
    }

    @Test func `Members of another kind are steps`() {
        let files = ActivityUnit("files")
        manager.withActivity("Building", total: 4, unit: files) { group in
            let download = group.begin("Downloading", total: 1000, unit: .bytes)
            download.advance(by: 999)
            let compile = group.begin("Compiling", total: 40, unit: files)
            compile.advance(by: 10)
            #expect(amounts == "10 of 41")
            let link = group.begin("Linking", progress: 0.375)
            #expect(amounts == "10 of 42")
            #expect(abs((manager.snapshot.progress ?? 0) - (10 + 0.999 + 0.375) / 42) < 1e-12)
            download.end()
            link.end(.failed("ld"))
            #expect(amounts == "12 of 42")
        }
        manager.withActivity("Installing", unit: .bytes) { group in
            let check = group.begin("Checking")
            #expect(amounts == "0 of ?")
            let download = group.begin("Downloading", total: 900, unit: .bytes)
            let unpack = group.begin("Unpacking", progress: 0.5)
            #expect(amounts == "0 of 900")
            check.end()
            download.end(.succeeded)
            unpack.end()
            #expect(amounts == "900 of 900")
        }
    }

    @Test func `Groups add up in groups`() {
        manager.withActivity("All", unit: .bytes) { all in
            all.withActivity("First", unit: .bytes) { group in
                let member = group.begin("a", total: 100, unit: .bytes)
                member.advance(by: 10)
                // Another kind: four files.
                let files = ManagedActivity("Files", total: 4, in: all)
                let file = files.begin("b", total: 50, unit: .bytes)
                file.advance(by: 50)
                #expect(amounts == "10 of 100")
                files.unit = .bytes
                files.total = nil
                #expect(amounts == "60 of 150")
            }
            // The files have ended with their variable, without an outcome: as done as they were.
            #expect(amounts == "60 of 60")
        }
    }

    /// A time left that is shorter than that of a member is wrong.
    @Test func `A group has the rate of all and the time of the slowest`() throws {
        var list = ActivityList(wallClock: WallClock(at: .zero))
        func begin(_ label: String, total: Int?, in group: ActivityRecord?) -> ActivityRecord {
            let record = ActivityRecord(label: label, total: total, unit: .bytes)
            list.insert(record, in: group, at: .zero)
            return record
        }
        let group = begin("Group", total: nil, in: nil)
        let fast = begin("fast", total: 10_000, in: group)
        let silent = ActivityRecord()
        list.insert(silent, in: group, at: .zero)
        let slow = begin("slow", total: 1000, in: silent)
        var activities: [ActivityDetails] = []
        var resumed: ActivityRecord?
        for second in 1...20 {
            fast.advance(by: 100)
            slow.advance(by: 5)
            resumed?.advance(by: 20)
            for record in [fast, slow] + (resumed.map { [$0] } ?? []) { _ = list.hasAdvanced(record) }
            if second == 10 {
                let late = begin("resumed", total: 2_000_000, in: group)
                let old = late.currentDetails
                var new = old
                new.completed = 1_999_000
                _ = list.merge(new, since: old, into: late)
                resumed = late
            }
            activities = list.activities(at: { .seconds(second) }, isMeasured: true)
        }
        func rate(_ index: Int) throws -> Double { (try #require(activities[index].rate) * 10).rounded() / 10 }
        #expect(activities.map(\.label) == ["Group", "fast", "slow", "resumed"])
        #expect(try (1...3).map(rate) == [100, 5, 20])
        // What was done earlier does not count.
        #expect((115...125).contains(try rate(0)))
        #expect(activities[0].completed == 2000 + 1_999_200)
        #expect(activities[0].remaining == .seconds(180))
        #expect(activities[2].remaining == .seconds(180))
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
    @Test func `Random traces add up`() {
        let first = ProcessInfo.processInfo.environment["INDICATOR_TEST_SEED"].flatMap(UInt64.init) ?? 20_261_125
        var amounts: Set<Int> = []
        for seed in first..<first + 300 {
            var trace = GroupTrace(seed: seed)
            for step in 0..<120 {
                let description = trace.takeStep()
                if let difference = trace.difference(&amounts) {
                    Issue.record("seed \(seed), step \(step), \(description): \(difference)")
                    return
                }
            }
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
