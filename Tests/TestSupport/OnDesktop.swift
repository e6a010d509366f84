/// Where notifications are shown.
package protocol NotificationScreen: Sendable {
    /// How many are shown now.
    var displayedCount: Int { get async throws }

    /// The texts of what is shown, where that is known.
    var texts: [String]? { get async throws }

    /// Executes a command of a script, whose words these are.
    func execute(_ words: [Substring]) async throws
}

extension NotificationScreen {
    package var texts: [String]? { nil }
    package func execute(_ words: [Substring]) async throws { throw FixtureError("unknown command: \(words)") }
}

/// A session bus with a notification server, and an app that sends notifications.
package struct Desk<Server: NotificationScreen>: Sendable {
    package let bus: PrivateBus
    package let server: Server
    /// Records what the server receives.
    package let monitor: NotifyMonitor
    /// The app.
    package let probe: DesktopProbe

    /// The calls that have shown or updated a notification.
    package var shown: [NotifyMonitor.Call] { monitor.shown }

    /// Executes the steps of a script, which `|` and line breaks divide. A step is a command of the app, after
    /// `deliver` if it waits until that was delivered; `server` and a command of the server; or `wait` and a number of
    /// seconds. Then it waits for what may follow:
    ///
    /// - `=`: the screen: the texts of the notifications, or the last text, after `2: ` if there are two, or `nothing`.
    /// - `~`: everything that was sent: each text, after `+` if it is that of a new notification, with `!` for normal
    ///   urgency, `*` if it is not transient, and the number of its bar.
    /// - `?`: a text in the state of the backend.
    /// - `&`: a text in the app's log.
    package func follow(_ script: String, at location: SourceLocation = #_sourceLocation) async throws {
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            guard let match = try /^ *(.*?)(?:(?:^| )([=~?&]) (.*?))? *$/.wholeMatch(in: step) else { continue }
            let words = match.1.split(separator: " ")
            switch words.first {
            case nil: break
            case "server": try await server.execute(Array(words.dropFirst()))
            case "deliver": try await probe.deliver(String(words[1]), words.dropFirst(2).joined(separator: " "))
            case "wait": try await Task.sleep(for: .seconds(Double(words[1]) ?? 0))
            default: try await probe.follow(String(match.1), at: location)
            }
            guard let kind = match.2, let expected = match.3 else { continue }
            var found = ""
            let isReached = try await eventually {
                switch kind {
                case "=": found = try await screen
                case "~": found = sent
                case "?": found = try await probe.status(of: "desktopNotification")
                default: found = probe.log
                }
                return kind == "=" || kind == "~" ? found == expected : found.contains(expected)
            }
            #expect(isReached, "\(step): '\(found)' \(probe.log)", sourceLocation: location)
        }
    }

    private var screen: String {
        get async throws {
            let count = try await server.displayedCount
            if count == 0 { return "nothing" }
            if let texts = try await server.texts { return texts.joined(separator: ", ") }
            let text = shown.last.map { $0.body.isEmpty ? $0.summary : $0.body } ?? ""
            return count == 1 ? text : "\(count): \(text)"
        }
    }

    private var sent: String {
        shown.map { call in
            let marks = (call.hints["urgency"] == "y 1" ? "!" : "") + (call.hints["transient"] == "b 1" ? "" : "*")
            let bar = call.hints["value"].map { $0.replacing("i ", with: " ") } ?? ""
            return (call.identifier == 0 ? "+" : "") + call.body + marks + bar
        }.joined(separator: ", ")
    }

    /// Shuts the app down; everything that it has sent is recorded when this returns.
    package func shutdown() async throws {
        try await probe.shutdown()
        try await monitor.catchUp()
    }
}

/// Runs a test on a session bus with a notification server, where an app sends notifications. At the end, the app is
/// shut down, and nothing is left on the screen.
///
/// - Parameters:
///   - parts: further parts of the app, with spaces between them, as of ``DesktopProbe``.
///   - way: how it sends notifications.
///   - environment: further variables of the app.
///   - status: what the state of its backend contains before the test begins.
///   - count: how many notifications stay on the screen.
///   - bus: the bus, if it is not a new one.
///   - server: starts the server.
///   - body: the test.
package func onDesktop<Server: NotificationScreen>(
    _ parts: String = "",
    through way: NotificationWay = .auto,
    environment: [String: String] = [:],
    status: String = "running",
    leaving count: Int = 0,
    on bus: PrivateBus? = nil,
    server: (PrivateBus) async throws -> Server,
    at location: SourceLocation = #_sourceLocation,
    _ body: (Desk<Server>) async throws -> Void
) async throws {
    let bus = if let bus { bus } else { try await PrivateBus() }
    // Before the server: some end when nothing is shown for a while.
    let monitor = try await NotifyMonitor(bus)
    let server = try await server(bus)
    let probe = try await DesktopProbe("notification", parts, through: way, environment: environment, bus: bus)
    let desk = Desk(bus: bus, server: server, monitor: monitor, probe: probe)
    try await desk.follow("? \(status)", at: location)
    try await body(desk)
    if probe.isRunning { try await probe.shutdown() }
    try await expectEventually("left on the screen", at: location) { try await server.displayedCount == count }
}

/// The same with dunst.
package func onDesktop(
    _ parts: String = "",
    through way: NotificationWay = .auto,
    environment: [String: String] = [:],
    status: String = "running",
    leaving count: Int = 0,
    on bus: PrivateBus? = nil,
    at location: SourceLocation = #_sourceLocation,
    _ body: (Desk<NotificationServer>) async throws -> Void
) async throws {
    let dunst = { (bus: PrivateBus) in try await NotificationServer(on: bus) }
    try await onDesktop(
        parts,
        through: way,
        environment: environment,
        status: status,
        leaving: count,
        on: bus,
        server: dunst,
        at: location,
        body
    )
}

extension DesktopProbe {
    /// An app that sends notifications, whose backend is running, with further parts.
    package static func notifying(
        _ parts: String = "",
        through way: NotificationWay = .auto,
        environment: [String: String] = [:],
        on bus: PrivateBus
    ) async throws -> DesktopProbe {
        let name = "desktopNotification"
        return try await .init("notification", parts, through: way, environment: environment, bus: bus, running: name)
    }

    /// Does something in rounds, until the resident memory of the app grows by less than a limit in kB in one of five,
    /// and expects that: reused memory is allocated in the first rounds, and a leak grows in every round.
    package func expectFlatMemory(
        below limit: Int,
        at location: SourceLocation = #_sourceLocation,
        in round: () async throws -> Void
    ) async throws {
        var growth: [Int] = []
        while growth.count < 5, growth.last ?? .max >= limit {
            let before = try #require(Int(try await tell("memory")))
            try await round()
            growth.append(try #require(Int(try await tell("memory"))) - before)
        }
        #expect(growth.last ?? .max < limit, "kB in each round: \(growth)", sourceLocation: location)
    }
}

extension TemporaryDirectory {
    /// The variables of a desktop that has its files in this folder, on a bus and a system bus, without a real screen.
    package func desktop(on bus: PrivateBus, system: PrivateBus) -> [String: String] {
        [
            "HOME": path, "XDG_RUNTIME_DIR": path, "XDG_CONFIG_HOME": "\(path)/config",
            "XDG_DATA_HOME": "\(path)/data", "XDG_CACHE_HOME": "\(path)/cache",
            "DBUS_SESSION_BUS_ADDRESS": bus.address, "DBUS_SYSTEM_BUS_ADDRESS": system.address,
            "GIO_USE_VFS": "local", "LIBGL_ALWAYS_SOFTWARE": "1", "NO_AT_BRIDGE": "1", "WAYLAND_DISPLAY": "",
        ]
    }
}
