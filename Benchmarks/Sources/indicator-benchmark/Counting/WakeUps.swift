import Foundation

/// The number of wake-ups of an idle app, while the indicator is hidden and while it is shown.
///
/// Only wake-ups added by the indicator count. The Swift runtime wakes every process that has ever run a task once a
/// second, because libdispatch manages its threads. A process without an indicator, observed at the same time, measures
/// that number.
enum WakeUps {
    static let names = ["wakeups-idle", "wakeups-visible"]

    static func count(_ scale: Scale) throws -> [Figure] {
        var bus: PrivateBus?
        var missing: String?
        do { bus = try PrivateBus() } catch { missing = "\(error)" }
        let idle = try IndicatorApp(on: bus)
        let visible = try IndicatorApp(on: bus)
        try visible.show()
        let other = try Child(sibling: "bare-app")
        _ = try other.expect("ready")

        Thread.sleep(forTimeInterval: scale.settling / .seconds(1))
        let processes = [idle.processID, visible.processID, other.processID]
        let before = try processes.map(ProcessStatus.voluntarySwitches)
        Thread.sleep(forTimeInterval: scale.watch / .seconds(1))
        let after = try processes.map(ProcessStatus.voluntarySwitches)
        try idle.finish()
        try visible.finish()
        try other.finish()

        let counts = zip(before, after).map { before, after in
            after.map { $0.value - before[$0.key, default: 0] }.reduce(0, +)
        }
        let surfaces = missing.map { "with only the log file: \($0)" } ?? "with the log file and the D-Bus property"
        return [(names[0], "hidden", counts[0]), (names[1], "shown", counts[1])].map { name, state, count in
            Figure(
                name: name,
                title: "wake-ups while the indicator is \(state)",
                goal: 0,
                outcome: .count(
                    Double(max(count - counts[2], 0)),
                    unit: "in \(Decimals.short(scale.watch / .seconds(1))) s"
                ),
                detail:
                    "\(count), and \(counts[2]) in a process without an indicator that has run one task; \(surfaces)"
            )
        }
    }
}
