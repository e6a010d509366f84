/// A notification server on a private bus, under a separate X server without a screen.
package final class NotificationServer: NotificationScreen {
    /// The servers that the backend is tested with: their Debian packages, which have the names of the programs.
    package enum Program: String, Sendable, CaseIterable {
        case dunst
        case xfce = "xfce4-notifyd"
        case mate = "mate-notification-daemon"
        case lxqt = "lxqt-notificationd"
        case notifyOSD = "notify-osd"

        var needs: Needs { [NotificationServer.path(of: rawValue) ?? rawValue: rawValue] }
    }

    /// The path of the program of a package: in `PATH`, or below a folder for programs that users do not start, which
    /// depends on the release. `nil` if it is not installed.
    static func path(of package: String) -> String? {
        if let path = try? Command.find(package) { return path }
        let libraries = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        let paths = (["/usr/libexec", "/usr/lib"] + libraries.map { "/usr/lib/\($0)" }).flatMap { folder in
            [package, "\(package)/\(package)", "xfce4/notifyd/\(package)"].map { "\(folder)/\($0)" }
        }
        return paths.first { path in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
                && FileManager.default.isExecutableFile(atPath: path)
        }
    }

    package let bus: PrivateBus
    /// Where it shows them.
    package let screen: Screen
    private let program: Program
    private let daemon = Locked<Daemon?>(nil)
    private let folder: TemporaryDirectory

    /// Prepares one, and starts it.
    ///
    /// - Parameters:
    ///   - bus: the bus.
    ///   - program: the server.
    ///   - isRunning: whether it is started.
    ///   - markup: whether dunst supports markup, and announces it.
    package init(
        on bus: PrivateBus,
        _ program: Program = .dunst,
        isRunning: Bool = true,
        markup: Bool = true
    ) async throws {
        (self.bus, self.program) = (bus, program)
        folder = try TemporaryDirectory("indicator-server")
        let text = "[global]\nmarkup = \(markup ? "full" : "no")\nhistory_length = 1000\n[urgency_normal]\ntimeout = 0"
        try folder.write(text, to: "dunstrc")
        screen = try await Screen()
        if isRunning { try await start() }
    }

    /// Starts it, after ``kill()``, too; returns when it owns its name.
    package func start() async throws {
        let started = try Daemon(
            Self.path(of: program.rawValue) ?? program.rawValue,
            program == .dunst ? ["-conf", folder.appending("dunstrc")] : [],
            environment: [
                "DISPLAY": screen.display, "DBUS_SESSION_BUS_ADDRESS": bus.address, "WAYLAND_DISPLAY": "",
                "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "GSETTINGS_BACKEND": "memory",
                "QT_QPA_PLATFORM": "xcb",
            ],
            package: program.rawValue
        )
        daemon.withLock { $0 = started }
        let service = "org.freedesktop.DBus"
        let isOwner = try await eventually {
            let method = "GetConnectionUnixProcessID"
            let owner = try await bus.busctl("call", service, "/", service, method, "s", Self.name)
            return owner.output == "u \(started.processID)\n"
        }
        if !isOwner { throw FixtureError("\(program.rawValue) did not start: \(started.errors)") }
    }

    /// How many notifications it shows now; 0 if it does not run, and for others than dunst, which do not say. The
    /// following properties work with dunst only.
    package var displayedCount: Int {
        get async throws {
            let isKnown = program == .dunst && daemon.withLock { $0 != nil }
            return isKnown ? try await count("displayedLength") : 0
        }
    }

    /// How many notifications were closed.
    package var historyCount: Int { get async throws { try await count("historyLength") } }

    /// The closed notifications, latest first: their properties of these names, with `|` between them.
    package func history(_ names: String...) async throws -> [String] {
        let (name, path, control) = (Self.name, Self.path, Self.control)
        let result = try await bus.busctl("--json=short", "call", name, path, control, "NotificationListHistory")
        let reply = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
        let list = (reply?["data"] as? [[[String: [String: Any]]]])?.first ?? []
        return list.map { entry in names.map { "\(entry[$0]?["data"] ?? "")" }.joined(separator: "|") }
    }

    /// Its warnings and errors.
    package var complaints: String { daemon.withLock { $0.map { $0.output + $0.errors } ?? "" } }

    /// Executes a command of a script.
    package func execute(_ words: [Substring]) async throws {
        switch words[0] {
        case "start": try await start()
        case "kill": await kill()
        case "pause": pause()
        case "resume": resume()
        case "dismiss":
            // Without the reply: it may be paused. It closes the latest notification, as the user does.
            let (name, method) = (Self.name, "NotificationCloseLast")
            _ = try await bus.busctl("--expect-reply=no", "call", name, Self.path, Self.control, method)
        default: throw FixtureError("unknown command: \(words)")
        }
    }

    package func pause() { daemon.withLock { $0 }?.send(SIGSTOP) }
    package func resume() { daemon.withLock { $0 }?.send(SIGCONT) }
    package func kill() async { await daemon.withLock { $0.take() }?.end() }

    private func count(_ property: String) async throws -> Int {
        let result = try await bus.busctl("get-property", Self.name, Self.path, Self.control, property)
        return Int(result.output.dropFirst(2).trimmingCharacters(in: .newlines)) ?? -1
    }

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let control = "org.dunstproject.cmd0"
}
