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
        Amounts are never less than nothing, and totals never less than amounts
            g begins - 100 B | a begins g 100 B | a done -5 | g done -7 = 0/100 | a done 150 = 150/150
            b begins g ? B | b +20 = 170/170
        A progress without steps is a part of the total
            g begins - ? B | a begins g 80 B | a progress 0.5 = 40/80 | a +10 = 10/80
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
}
