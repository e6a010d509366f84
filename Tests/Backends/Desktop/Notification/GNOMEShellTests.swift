#if DBus
import TestSupport

/// The real GNOME Shell, without a screen.
@Suite(.needs(.bus)) struct GNOMEShellTests {
    private static let programs: Needs = [
        "gnome-shell": "gnome-shell", "gjs": "gjs",
        "/usr/lib/python3/dist-packages/dbusmock": "python3-dbusmock",
    ]

    final class Shell: NotificationScreen {
        private let bus: PrivateBus
        private let system: PrivateBus
        private let folder: TemporaryDirectory
        private let daemons: [Daemon]

        init(on bus: PrivateBus) async throws {
            self.bus = bus
            let system = try await PrivateBus()
            self.system = system
            folder = try TemporaryDirectory("indicator-gnome")
            let variables = ["GSETTINGS_BACKEND": "memory", "DISPLAY": "", "XDG_CURRENT_DESKTOP": "GNOME"]
            let environment = folder.desktop(on: bus, system: system).merging(variables) { $1 }
            func start(_ command: String) throws -> Daemon {
                try Daemon(command.split(separator: " ").map(String.init), environment: environment)
            }
            let logind = try start("/usr/bin/python3 -m dbusmock --system --template logind")
            #expect(try await eventually { try await system.hasOwner("org.freedesktop.login1") })
            let options = "--headless --no-x11 --unsafe-mode --virtual-monitor 640x480 --wayland-display indicator"
            // It runs JavaScript in its fork for ibus-daemon, which may wait for ever for a lock of another thread.
            var shell: Daemon?
            for _ in 0..<3 {
                shell = nil
                shell = try start("/usr/bin/gnome-shell \(options)")
                if try await eventually({ try await bus.evaluate(Self.isStarting, in: Self.name) == "false" }) { break }
            }
            #expect(try await bus.evaluate(Self.recording, in: Self.name) != nil, "\(shell?.errors ?? "")")
            // The bus would start it. It is a module in later versions.
            let service = "/usr/share/gnome-shell/org.gnome.Shell.Notifications"
            let isModule = try String(contentsOfFile: service, encoding: .utf8).hasPrefix("import ")
            daemons = try [logind, #require(shell), start("/usr/bin/gjs \(isModule ? "-m " : "")\(service)")]
            #expect(try await eventually { try await bus.hasOwner("org.freedesktop.Notifications") })
        }

        private static let (name, isStarting) = ("org.gnome.Shell", "Main.layoutManager._startingUp")

        /// Records each change of what GNOME Shell shows for the app: urgencies and texts of its notifications. A
        /// banner may be shorter than a question from outside takes. The timer comes before each call from the bus, by
        /// its priority.
        private static let recording = """
            global.shownByProbe = [""]; imports.gi.GLib.timeout_add(imports.gi.GLib.PRIORITY_HIGH, 1, () => {
                const shown = Main.messageTray.getSources().flatMap(source => source.notifications)
                    .filter(one => one.title == "probe")
                    .map(one => one.urgency + " " + (one.body ?? one.bannerBodyText)).join("; ");
                if (shown != global.shownByProbe.at(-1)) global.shownByProbe.push(shown);
                return true;
            })
            """

        /// What was shown so far.
        var history: [String] {
            get async throws {
                let text = try await bus.evaluate("global.shownByProbe", in: Self.name) ?? "[]"
                return try JSONDecoder().decode([String].self, from: Data(text.utf8))
            }
        }

        var displayedCount: Int { get async throws { try await history.last == "" ? 0 : 1 } }
        var texts: [String]? { get async throws { try await history.suffix(1) } }
    }

    @Test(.needs(programs, .nightly))
    func `First a notification with a banner, then one in the list, which is updated; none remains`() async throws {
        try await onDesktop(server: { try await Shell(on: $0) }) { desk in
            try await desk.follow("& sent to gnome-shell")
            try await desk.probe.tell("begin", "work") { try await desk.server.history.contains("1 work") }
            try await desk.follow("progress 0.4 = 0 work 40% | label more = 0 more 40%")
            try await desk.follow("attention Key? = 0 more: Key? 40%")
            // GNOME removes the notification for a moment when its urgency changes.
            let history = try await desk.server.history.filter { !$0.isEmpty }
            #expect(history.dropLast().last == "1 more: Key? 40%", "\(history)")
            await desk.probe.quit()
        }
    }
}
#endif
