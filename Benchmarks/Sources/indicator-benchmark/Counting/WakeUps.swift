import Foundation

/// How often an app wakes up that has nothing to do: while the indicator is hidden, and while it is shown.
enum WakeUps {
    static let names = ["wakeups-idle", "wakeups-visible"]

    static func count(_ scale: Scale) throws -> [Figure] {
        let folders = try [WorkFolder(), WorkFolder()]
        var bus: PrivateBus?
        var missing: String?
        do { bus = try PrivateBus(in: folders[0]) } catch { missing = "\(error)" }
        let idle = try IndicatorApp(on: bus, in: folders[0])
        let visible = try IndicatorApp(on: bus, in: folders[1])
        try visible.show()
        Thread.sleep(forTimeInterval: scale.settling / .seconds(1))
        let apps = [idle, visible]
        let before = try apps.map { try ProcessStatus.voluntarySwitches($0.process.processID) }
        Thread.sleep(forTimeInterval: scale.watch / .seconds(1))
        let after = try apps.map { try ProcessStatus.voluntarySwitches($0.process.processID) }
        for app in apps { try app.process.finish() }

        let surfaces = missing.map { "with the log file alone: \($0)" } ?? "with the log file and the D-Bus property"
        let titles = ["hidden", "shown"]
        return apps.indices.map { index in
            let switches = after[index].map { $0.value - before[index][$0.key, default: 0] }.reduce(0, +)
            return Figure(
                name: names[index],
                title: "wake-ups while it is \(titles[index])",
                goal: 0,
                outcome: .count(Double(switches), unit: "in \(Decimals.short(scale.watch / .seconds(1))) s"),
                detail: surfaces
            )
        }
    }
}
