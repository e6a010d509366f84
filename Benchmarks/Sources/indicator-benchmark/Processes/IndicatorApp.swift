/// An app with an indicator and nothing else to do.
struct IndicatorApp {
    /// The name of its object on the bus, when it has one.
    static let busName = "org.activityindicator.Indicator1.indicator-app"

    let process: Child
    /// How long `IndicatorManager.configured` took, in milliseconds.
    let startUp: Double

    /// Starts one, and waits until its surfaces work.
    ///
    /// - Parameters:
    ///   - bus: the bus for its D-Bus property; without one it has only the log file.
    ///   - folder: where its files go.
    init(on bus: PrivateBus? = nil, in folder: WorkFolder) throws {
        var lines = [
            "backends: [logFile\(bus == nil ? "" : ", dbusProperty")]",
            "startDelay: 0",
            "logFile:",
            "  path: \(folder.path)/indicator.log",
        ]
        if let bus { lines += ["dbusProperty:", "  bus: \"\(bus.address)\""] }
        let file = try folder.write(
            lines.joined(separator: "\n") + "\n",
            to: bus == nil ? "log.yaml" : "bus.yaml"
        )
        process = try Child(sibling: "indicator-app", [file])
        guard let startUp = Double(try process.expect("ready")) else {
            throw Child.Failure(description: "indicator-app did not say how long it took to start")
        }
        self.startUp = startUp
    }

    /// Has it begin an activity, and waits until that is shown.
    func show() throws {
        try process.write("begin")
        _ = try process.expect("visible")
    }
}
