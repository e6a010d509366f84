/// A notification server on a private bus, under a separate X server without a screen.
package final class NotificationServer: Sendable {
    /// The servers that the backend is tested with.
    package enum Program: Sendable, CaseIterable {
        case dunst
        case xfce
        case mate
        case lxqt
        case notifyOSD

        fileprivate var path: String {
            get throws {
                if let path = NotificationServer.path(of: package) { return path }
                throw Command.notInstalled(package, package: package)
            }
        }

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
            program.path,
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

    /// A notification that was closed.
    package struct Notification: Sendable, Hashable {
        package var summary: String
        package var body: String
        package var progress: Int

        package init(summary: String, body: String, progress: Int) {
            self.summary = summary
            self.body = body
            self.progress = progress
        }
    }

    /// How many notifications it shows now. This and the following properties work with dunst only.
    package var displayedCount: Int { get async throws { try await count("displayedLength") } }

    /// How many notifications were closed.
    package var historyCount: Int { get async throws { try await count("historyLength") } }

    /// The closed notifications, latest first.
    package var history: [Notification] {
        get async throws {
            try await entries().map {
                Notification(summary: $0.summary.data, body: $0.body.data, progress: $0.progress.data)
            }
        }
    }

    /// The icon files of the closed notifications, latest first; empty if it found none.
    package var historyIcons: [String] {
        get async throws { try await entries().map(\.icon_path.data) }
    }

    private struct Entry: Decodable {
        struct Text: Decodable { var data: String }
        struct Number: Decodable { var data: Int }
        var summary: Text
        var body: Text
        var progress: Number
        var icon_path: Text
    }

    private func entries() async throws -> [Entry] {
        let (name, path, control) = (Self.name, Self.path, Self.control)
        let result = try await bus.busctl("--json=short", "call", name, path, control, "NotificationListHistory")
        struct Reply: Decodable { var data: [[Entry]] }
        return try JSONDecoder().decode(Reply.self, from: Data(result.output.utf8)).data[0]
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

    /// Suspends it until ``resume()``.
    package func pause() { daemon.send(SIGSTOP) }

    /// Resumes it.
    package func resume() { daemon.send(SIGCONT) }

    /// Ends it with SIGKILL.
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
