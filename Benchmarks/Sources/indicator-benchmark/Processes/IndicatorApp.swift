/// An idle app with an indicator.
final class IndicatorApp {
    /// The bus name of the app.
    static let busName = "org.activityindicator.Indicator1.indicator-app"

    /// The duration of `IndicatorManager.configured`, in milliseconds.
    let startUp: Double

    private let folder: WorkFolder
    private let bus: PrivateBus?
    private let process: Child

    /// Starts the app, and waits until its backends are running.
    ///
    /// - Parameter bus: the bus for the D-Bus property; with `nil`, the app has only the log file.
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
            throw Child.Failure(description: "indicator-app did not print its start-up time")
        }
        self.startUp = startUp
    }

    var processID: Int32 { process.processID }

    /// Starts the app with one backend.
    ///
    /// - Parameters:
    ///   - lines: the lines of the config file.
    ///   - environment: further variables.
    init(_ lines: [String], environment: [String: String]) throws {
        bus = nil
        startUp = 0
        folder = try WorkFolder()
        let file = try folder.write((["startDelay: 0"] + lines).joined(separator: "\n") + "\n", to: "indicator.yaml")
        process = try Child(sibling: "indicator-app", [file], environment: environment)
        _ = try process.expect("ready")
    }

    /// Changes an activity in the app 1000 times a second, and waits until that has ended.
    func update(for duration: Duration) throws {
        try process.write("updates \(duration / .seconds(1))")
        _ = try process.expect("updated")
    }

    /// Begins an activity in the app, and waits until it is shown.
    func show() throws {
        try process.write("begin")
        _ = try process.expect("visible")
    }

    /// Ends the app, and waits until it has ended.
    func finish() throws {
        try process.finish()
    }
}
