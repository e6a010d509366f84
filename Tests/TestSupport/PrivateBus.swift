/// A private `dbus-daemon`, whose address is kept when it is restarted.
package final class PrivateBus: Sendable {
    package let address: String
    /// That of its socket, with the desktop file of the app.
    package let folder: TemporaryDirectory

    private let daemon = Locked<Daemon?>(nil)

    /// Starts one, or only chooses its address.
    ///
    /// - Parameters:
    ///   - isRunning: whether it is started.
    ///   - policy: rules that follow those that allow everything.
    package init(isRunning: Bool = true, policy: String = "") async throws {
        folder = try TemporaryDirectory("indicator-bus")
        address = "unix:path=\(folder.path)/bus"
        try folder.write(
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>\(address)</listen>
              <auth>EXTERNAL</auth>
              <servicedir>\(folder.path)/services</servicedir>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
                \(policy)
              </policy>
            </busconfig>
            """,
            to: "bus.conf"
        )
        try folder.write(
            "[Desktop Entry]\nType=Application\nName=Probe\nExec=true\nIcon=folder\n",
            to: "applications/\(DesktopProbe.desktopFile)"
        )
        if isRunning { try await start() }
    }

    /// Starts it, after ``kill()``.
    package func start() async throws {
        let options = ["--config-file=\(folder.path)/bus.conf", "--nofork", "--nopidfile", "--print-address=1"]
        let started = try Daemon("dbus-daemon", options, package: "dbus-daemon")
        daemon.withLock { $0 = started }
        // It prints the address when it listens.
        guard await started.prints("\n") else { throw FixtureError("dbus-daemon did not start: \(started.errors)") }
    }

    /// Ends it with SIGKILL.
    package func kill() async {
        await daemon.withLock { $0.take() }?.end()
    }

    package func pause() { daemon.withLock { $0 }?.send(SIGSTOP) }
    package func resume() { daemon.withLock { $0 }?.send(SIGCONT) }

    /// Runs `busctl` on it.
    package func busctl(_ arguments: String...) async throws -> Command.Result {
        try await Command.run("busctl", ["--address=\(address)"] + arguments, package: "systemd")
    }

    /// Whether a connection owns a name. `busctl status` fails for some users.
    package func hasOwner(_ name: String) async throws -> Bool {
        let service = "org.freedesktop.DBus"
        return try await busctl("call", service, "/", service, "NameHasOwner", "s", name).output.hasPrefix("b true")
    }

    /// The JSON of a value in GNOME Shell or Cinnamon; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - script: JavaScript.
    ///   - shell: the bus name, from which its object and interface follow.
    package func evaluate(_ script: String, in shell: String) async throws -> String? {
        let path = "/" + shell.replacing(".", with: "/")
        let output = try await busctl("--json=short", "call", shell, path, shell, "Eval", "s", script).output
        let reply = try? JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        guard let data = reply?["data"] as? [Any], data.first as? Bool == true else { return nil }
        return data.last as? String
    }

    /// A property of the indicator of an app, as `busctl` prints it, such as `s "Fetching"`; or the error.
    package func property(_ property: String, of app: String = "probe") async throws -> String {
        let own = "org.activityindicator.Indicator1"
        let path = "/" + own.replacing(".", with: "/")
        let result = try await busctl("get-property", "\(own).\(app)", path, own, property)
        return result.status == 0 ? result.output.trimmingCharacters(in: .newlines) : result.error
    }

    /// Runs `gdbus` on it. The first argument is the command.
    package func gdbus(_ command: String, _ arguments: [String]) async throws -> Command.Result {
        try await Command.run("gdbus", [command, "--address", address] + arguments, package: "libglib2.0-bin")
    }

    /// Runs a script with python3-dbus; `bus` is the connection to it.
    package func python(_ script: String) async throws -> Command.Result {
        // The system's Python: the package is installed for no other.
        try await Command.run(
            "/usr/bin/python3",
            ["-c", "import dbus, dbus.bus, sys\nbus = dbus.bus.BusConnection(\"\(address)\")\n" + script],
            package: "python3-dbus"
        )
    }

    /// Starts `indicator watch` on it.
    package func watch(_ options: String...) throws -> Daemon {
        try Daemon([Command.built("indicator"), "watch", "--bus", address] + options)
    }

    /// What `indicator watch --once` prints.
    package func watchOnce(_ options: String...) async throws -> String {
        let program = try Command.built("indicator")
        let result = try await Command.run(program, ["watch", "--bus", address, "--once"] + options)
        if result.status != 0 || result.error != "" { throw FixtureError("indicator watch: \(result.error)") }
        return result.output
    }
}
