/// An app with an indicator and nothing else to do.
final class IndicatorApp {
    /// The name of its object on the bus, when it has one.
    static let busName = "org.activityindicator.Indicator1.indicator-app"

    /// How long `IndicatorManager.configured` took, in milliseconds.
    let startUp: Double

    private let folder: WorkFolder
    private let bus: PrivateBus?
    private let process: Child

    /// Starts one, and waits until its surfaces work.
    ///
    /// - Parameter bus: the bus for its D-Bus property; without one it has only the log file.
    init(on bus: PrivateBus? = nil) throws {
        self.bus = bus
        folder = try WorkFolder()
        var lines = [
            "backends: [logFile\(bus == nil ? "" : ", dbusProperty")]",
            "startDelay: 0",
            "logFile:",
            "  path: \(folder.path)/indicator.log",
        ]
        if let bus { lines += ["dbusProperty:", "  bus: \"\(bus.address)\""] }
        let file = try folder.write(lines.joined(separator: "\n") + "\n", to: "indicator.yaml")
        process = try Child(sibling: "indicator-app", [file])
        guard let startUp = Double(try process.expect("ready")) else {
            throw Child.Failure(description: "indicator-app did not say how long it took to start")
        }
        self.startUp = startUp
    }

    var processID: Int32 { process.processID }

    /// Has it begin an activity, and waits until that is shown.
    func show() throws {
        try process.write("begin")
        _ = try process.expect("visible")
    }

    /// Has it end, and waits until it has ended.
    func finish() throws {
        try process.finish()
    }
}
