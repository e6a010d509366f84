/// A notification server on a private bus, under a separate X server without a screen.
package final class NotificationServer: Sendable {
    /// The servers that the backend is tested with.
    package enum Program: Sendable, CaseIterable {
        case dunst
        case xfce
        case mate
        case lxqt
        case notifyOSD

        var needs: Needs { [NotificationServer.path(of: package) ?? package: package] }

        /// Its Debian package, and the name of its program.
        fileprivate var package: String {
            switch self {
            case .dunst: "dunst"
            case .xfce: "xfce4-notifyd"
            case .mate: "mate-notification-daemon"
            case .lxqt: "lxqt-notificationd"
            case .notifyOSD: "notify-osd"
            }
        }
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
    private let daemon: Daemon
    private let folder: TemporaryDirectory

    /// Starts one; returns when it owns its name.
    ///
    /// - Parameters:
    ///   - bus: the bus.
    ///   - program: the server.
    ///   - markup: whether dunst supports markup, and announces it.
    package init(on bus: PrivateBus, _ program: Program = .dunst, markup: Bool = true) async throws {
        self.bus = bus
        folder = try TemporaryDirectory("indicator-server")
        let configuration = try folder.write(
            "[global]\n    markup = \(markup ? "full" : "no")\n    history_length = 1000\n",
            to: "dunstrc"
        )
        screen = try await Screen()
        let daemon = try Daemon(
            Self.path(of: program.package) ?? program.package,
            program == .dunst ? ["-conf", configuration] : [],
            environment: [
                "DISPLAY": screen.display, "DBUS_SESSION_BUS_ADDRESS": bus.address, "WAYLAND_DISPLAY": "",
                "HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "GSETTINGS_BACKEND": "memory",
                "QT_QPA_PLATFORM": "xcb",
            ],
            package: program.package
        )
        self.daemon = daemon
        guard try await eventually({ try await ownsName(on: bus, processID: daemon.processID) }) else {
            throw FixtureError("\(program.package) did not start: \(daemon.errors)")
        }
    }

    /// How many notifications it shows now. This and the following properties work with dunst only.
    package var displayedCount: Int { get async throws { try await count("displayedLength") } }

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
    package var complaints: String { daemon.output + daemon.errors }

    /// Closes the latest notification, as the user does.
    ///
    /// - Parameter waits: whether this returns after that; otherwise, when the server will do so next.
    package func dismiss(waits: Bool = true) async throws {
        let option = "--expect-reply=\(waits ? "yes" : "no")"
        _ = try await bus.busctl(option, "call", Self.name, Self.path, Self.control, "NotificationCloseLast")
    }

    package func pause() { daemon.send(SIGSTOP) }
    package func resume() { daemon.send(SIGCONT) }
    package func kill() async { await daemon.end() }

    private func count(_ property: String) async throws -> Int {
        let result = try await bus.busctl("get-property", Self.name, Self.path, Self.control, property)
        return Int(result.output.dropFirst(2).trimmingCharacters(in: .newlines)) ?? -1
    }

    private static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"
    private static let control = "org.dunstproject.cmd0"
}

private func ownsName(on bus: PrivateBus, processID: Int32) async throws -> Bool {
    let (service, name) = ("org.freedesktop.DBus", "org.freedesktop.Notifications")
    let result = try await bus.busctl("call", service, "/", service, "GetConnectionUnixProcessID", "s", name)
    return result.output == "u \(processID)\n"
}
