/// How the probe sends notifications.
package enum NotificationWay: String, Sendable, CaseIterable {
    /// Through libnotify while it is healthy.
    case auto
    case dbus
}

/// The program `test-probe desktop`: an app with an indicator on a private bus, which executes commands.
package final class DesktopProbe: Sendable {
    private let daemon: Daemon
    /// Its bus and its files, which live as long as it does.
    private let bus: PrivateBus?
    private let folder: TemporaryDirectory

    /// Starts one; returns when it accepts commands.
    ///
    /// - Parameters:
    ///   - parts: its parts, with spaces between them; one with a path is alone, because that may have some:
    ///     `notification`, `property`, `title`, `log=` and a path, `delays`, `neighbour`, `outcomes`, `threads=` and
    ///     `memory=` with a limit.
    ///   - configuration: lines of its config file; with one, it shows and hides the indicator at once.
    ///   - way: how it sends notifications.
    ///   - environment: further variables.
    ///   - program: a copy of the program to start instead.
    ///   - bus: its session bus; `nil` for none.
    ///   - address: the address of the session bus, if it is not that of `bus`.
    ///   - descriptors: how many descriptors the process may have (`ulimit -n`) from the start of its `main`; `nil` for
    ///     as many as this one.
    ///   - backend: the backend to wait for, until it is running.
    package init(
        _ parts: String...,
        configuration: String? = nil,
        through way: NotificationWay = .auto,
        environment: [String: String] = [:],
        program: String? = nil,
        bus: PrivateBus?,
        address: String? = nil,
        descriptors: Int? = nil,
        running backend: String? = nil
    ) async throws {
        // The probe limits itself: with 3, the dynamic linker could not load the libraries.
        var words = ["desktop", "through=\(way.rawValue)"] + (descriptors.map { ["descriptors=\($0)"] } ?? [])
        for part in parts { words += part.contains("/") ? [part] : part.split(separator: " ").map(String.init) }
        folder = try TemporaryDirectory()
        if let configuration {
            let text = "startDelay: 0\ncompletionDelay: 0\n\(configuration)\n"
            words.append("config=\(try folder.write(text, to: "indicator.yaml"))")
        }
        let probe = try Daemon(
            try program ?? Command.built("test-probe"),
            words,
            environment: [
                "DBUS_SESSION_BUS_ADDRESS": address ?? bus?.address ?? "", "XDG_RUNTIME_DIR": "", "DISPLAY": "",
                // For the tests that measure memory: malloc(3) caches as little as possible.
                "MALLOC_ARENA_MAX": "1",
            ].merging(environment) { _, given in given }
        )
        (daemon, self.bus) = (probe, bus)
        guard await eventually({ probe.output.hasPrefix("ready\n") }) else { throw Self.silent(probe) }
        guard let backend else { return }
        guard try await self.backend(backend, is: "running") else { throw Self.silent(probe) }
    }

    /// Starts one with a config file on a bus that is also that of the machine, whose folder has a desktop file of the
    /// app; returns when the backends are in a state.
    ///
    /// - Parameters:
    ///   - backends: their names, with `, ` between them.
    ///   - settings: further lines of the file.
    ///   - environment: further variables.
    ///   - state: what the text of that state contains; `nil` to wait for none.
    package convenience init(
        backends: String,
        _ settings: String = "",
        environment: [String: String] = [:],
        on bus: PrivateBus,
        are state: String? = "running"
    ) async throws {
        try await self.init(
            configuration: "backends: [\(backends)]\nlauncherEntry: {desktopFile: \(Self.desktopFile)}\n\(settings)",
            environment: ["XDG_DATA_HOME": bus.folder.path, "DBUS_SYSTEM_BUS_ADDRESS": bus.address]
                .merging(environment) { $1 },
            bus: bus
        )
        guard let state else { return }
        for backend in backends.components(separatedBy: ", ") {
            #expect(try await self.backend(backend, is: state), "\(log)")
        }
    }

    /// The desktop file that the folder of each ``PrivateBus`` has.
    package static let desktopFile = "org.example.probe.desktop"

    /// Starts one whose properties are on a bus; returns when they are.
    package convenience init(on bus: PrivateBus) async throws {
        try await self.init("property", bus: bus, running: "dbusProperty")
    }

    package var processID: Int32 { daemon.processID }
    package var isRunning: Bool { daemon.isRunning }
    package var log: String { daemon.errors }

    /// Whether it logs a text, or does so soon: the log has a thread of its own.
    package func logs(_ text: String) async -> Bool { await eventually { log.contains(text) } }

    /// Its open descriptors, by number.
    package func descriptors() throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processID)/fd"))
    }

    /// Sends it a command, in words that are separated by tabs, and waits for the answer. One at a time.
    @discardableResult
    package func tell(_ words: String...) async throws -> String { try await tell(words) }

    @discardableResult
    private func tell(_ words: [String]) async throws -> String {
        let before = daemon.output.count(where: \.isNewline)
        daemon.write(words.joined(separator: "\t"))
        guard await eventually({ daemon.output.count(where: \.isNewline) > before }) else { throw Self.silent(daemon) }
        return String(daemon.output.split(separator: "\n", omittingEmptySubsequences: false)[before])
    }

    /// Sends it a command, and waits for its answer and for a condition, whose failure is one of the test.
    package func tell(
        _ words: String...,
        at location: SourceLocation = #_sourceLocation,
        until condition: () async throws -> Bool
    ) async throws {
        try await tell(words)
        try await expectEventually(Comment(rawValue: "\(words): \(self.log)"), at: location, condition)
    }

    /// Sends it the commands of a script, one after another, which `|` and line breaks divide, and after each `=` waits
    /// until `state` is what follows. Numbers are arguments of their own; a text may have spaces.
    package func follow(
        _ script: String,
        at location: SourceLocation = #_sourceLocation,
        _ state: () async throws -> String = { "" }
    ) async throws {
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            let words = sides[0].split(separator: " ").map(String.init)
            let arguments = words.dropFirst()
            let isText = arguments.isEmpty || arguments.contains { Double($0) == nil }
            try await tell(isText ? [words[0], arguments.joined(separator: " ")] : words)
            guard sides.count > 1 else { continue }
            var found = ""
            let isReached = try await eventually {
                found = try await state()
                return found == sides[1]
            }
            let comment = "\(step): '\(found)' \(log)"
            #expect(isReached, "\(comment)", sourceLocation: location)
        }
    }

    /// Sends it a command, and waits until a snapshot that follows was delivered.
    package func deliver(_ words: String..., at location: SourceLocation = #_sourceLocation) async throws {
        let before = try await tell("delivered")
        try await tell(words)
        try await expectEventually(at: location) { try await tell("delivered") != before }
    }

    /// Sends it a command without waiting for the answer.
    package func send(_ words: String...) { daemon.write(words.joined(separator: "\t")) }

    /// Ends it at once, without a shutdown, and waits until it has ended.
    package func quit(at location: SourceLocation = #_sourceLocation) async {
        send("quit")
        await expectEventually(at: location) { !isRunning }
    }

    package func kill() async { await daemon.end() }

    /// The state of a backend, with the reason.
    package func status(of backend: String) async throws -> String {
        let states = try await tell("status").split(separator: "\t")
        let state = states.first { $0.hasPrefix("\(backend)=") } ?? ""
        return String(state.dropFirst(backend.count + 1))
    }

    /// Waits until a backend is in a state whose text contains `text`.
    package func backend(_ backend: String, is text: String) async throws -> Bool {
        try await eventually { try await status(of: backend).contains(text) }
    }

    /// Waits until backends are in a state whose text contains `text`.
    package func backends(_ backends: String..., are text: String) async throws -> Bool {
        for name in backends { guard try await backend(name, is: text) else { return false } }
        return true
    }

    /// Shuts the indicator down, and returns when that is done.
    package func shutdown() async throws { try await tell("shutdown") }

    /// The same, and waits for a condition, whose failure is one of the test.
    package func shutdown(
        at location: SourceLocation = #_sourceLocation,
        until condition: () async throws -> Bool
    ) async throws {
        try await tell("shutdown", at: location, until: condition)
    }

    private static func silent(_ probe: Daemon) -> FixtureError {
        FixtureError("the probe does not answer: \(probe.errors)")
    }
}
