import Foundation

/// The cost of an indicator in an app: start-up time and memory.
enum StartUp {
    static let names = ["resident-overhead", "startup-ms"]

    static func count(_ scale: Scale) throws -> [Figure] {
        var startUps: [Double] = []
        var linked: [Double] = []
        var bare: [Double] = []
        var foundation: [Double] = []
        for _ in 0..<scale.launches {
            let app = try IndicatorApp()
            startUps.append(app.startUp)
            linked.append(try ProcessStatus.residentKiB(app.processID))
            try app.finish()

            bare.append(try residentKiB(bareApp: []))
            foundation.append(try residentKiB(bareApp: ["foundation"]))
        }
        guard let startUp = startUps.min(), let with = linked.min(), let without = bare.min(),
            let withFoundation = foundation.min()
        else { return [] }
        return [
            Figure(
                name: names[0],
                title: "resident memory added by linking the indicator",
                goal: 5,
                outcome: .count((with - without) / 1024, unit: "MiB"),
                detail: "\(Int(with)) KiB with only the log file, \(Int(without)) KiB without an indicator, "
                    + "\(Int(withFoundation)) KiB if that app reads its environment and observes a notification"
            ),
            Figure(
                name: names[1],
                title: "IndicatorManager.configured, with only the log file",
                goal: 3,
                outcome: .count(startUp, unit: "ms"),
                detail: "the first call in a process, the shortest of \(startUps.count) processes"
            ),
        ]
    }

    private static func residentKiB(bareApp arguments: [String]) throws -> Double {
        let app = try Child(sibling: "bare-app", arguments)
        _ = try app.expect("ready")
        let resident = try ProcessStatus.residentKiB(app.processID)
        try app.finish()
        return resident
    }
}
