#if DBus
import TestSupport

@testable import DesktopBackends

/// When libnotify sends, and that an app is safe from it.
@Suite(.needs(.notifications)) struct LibNotifyTests {
    private static let name = "desktopNotification"

    /// How a probe says that it sends, after the name of the server.
    private func way(of probe: DesktopProbe) async throws -> String {
        let text = try await probe.tell("available")
        #expect(text.hasPrefix("dunst "))
        return text.components(separatedBy: ") ").dropFirst().joined(separator: ") ")
    }

    @Test("The availability and the log say how notifications are sent, and why", .needs("cc", package: "gcc"))
    func reasons() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let folder = try TemporaryDirectory()
        // They mask the installed library: a file that is no library, and a library without functions.
        let file = try folder.write("", to: "libnotify.so.4")
        let masked = ["LD_LIBRARY_PATH": folder.path]
        let other = try TemporaryDirectory()
        try other.write("", to: "empty.c")
        let library = other.appending("libnotify.so.4")
        let options = ["-shared", "-o", library, other.appending("empty.c")]
        let compiled = try await Command.run("cc", options, package: "gcc")
        try #require(compiled.status == 0, "\(compiled.error)")
        let empty = ["LD_LIBRARY_PATH": other.path]
        let runtime = ["XDG_RUNTIME_DIR": bus.folder.path]
        func launched(_ address: String) -> [String: String] {
            runtime.merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 }
        }
        func app(_ part: String = "", _ environment: [String: String] = [:], descriptors: Int? = nil) async throws
            -> DesktopProbe
        {
            try await DesktopProbe("notification", part, environment: environment, bus: bus, descriptors: descriptors)
        }
        let (direct, unloaded) = (
            "over D-Bus, without libnotify: ", "libnotify (package libnotify4) cannot be loaded: "
        )
        for (probe, expected) in [
            (try await app(), "through libnotify"),
            (try await DesktopProbe("notification", through: .dbus, bus: bus), direct + "as configured"),
            (try await app("", masked), direct + unloaded + "\(file): file too short"),
            (try await app("", empty), direct + unloaded + "libnotify.so.4 lacks g_main_context_new"),
            (try await app("", launched("")), "through libnotify"),
            (
                try await app("", launched("autolaunch:")),
                direct + "GLib would look for the bus elsewhere, or start one"
            ),
            (try await app("own"), direct + "the app itself uses libnotify, which is not thread-safe"),
            (try await app(descriptors: 20), direct + "the process has too few descriptors left"),
        ] {
            #expect(try await probe.backend(Self.name, is: "running"))
            #expect(await eventually { probe.log.contains(expected) }, "\(expected): \(probe.log)")
            if !expected.contains("configured") { #expect(try await way(of: probe) == expected) }
            try await probe.tell("begin", expected)
            #expect(try await eventually { try await server.displayedCount == 1 }, "\(expected)")
            try await probe.shutdown()
            #expect(try await eventually { try await server.displayedCount == 0 }, "\(expected)")
        }
    }

    @Test(.needs(.root))
    func `A process with more privileges than its user does not use libnotify`() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let folder = try TemporaryDirectory()
        let program = folder.appending("probe")
        try FileManager.default.copyItem(atPath: try Command.built("test-probe"), toPath: program)
        // Set-group-ID: with another user, it could not use the bus.
        #expect(chown(program, 0, 65534) == 0 && chmod(program, 0o2755) == 0)
        let probe = try await DesktopProbe("notification", program: program, bus: bus)
        #expect(try await way(of: probe).hasSuffix("the process has more privileges than its user"))
        withExtendedLifetime(server) {}
    }

    @Test func `An app loads libnotify only when it sends`() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        func libraries(_ probe: DesktopProbe) async throws -> Set<Substring> {
            let maps = try await Command.run("cat", ["/proc/\(probe.processID)/maps"]).output
            return Set(maps.split(whereSeparator: \.isWhitespace).filter { $0.contains(".so") })
        }
        let tool = try await Command.run("readelf", ["-d", try Command.built("indicator")], package: "binutils")
        #expect(tool.output.contains("libc.so") && !tool.output.contains(/lib(dbus|glib|notify|systemd)/))
        let without = try await DesktopProbe("property", bus: bus, running: "dbusProperty")
        #expect(try await !libraries(without).contains { $0.contains("libnotify") })
        for way in NotificationWay.allCases {
            let probe = try await DesktopProbe.notifying(through: way, on: bus)
            let loaded = try await libraries(probe)
            #expect(loaded.contains { $0.contains("libnotify") } == (way == .auto), "\(way): \(probe.log) \(loaded)")
        }
        withExtendedLifetime(server) {}
    }

    @Test(arguments: ["autolaunch:", "", "unix:path=/nowhere;autolaunch:"])
    func `GDBus never runs dbus-launch`(address: String) async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let folder = try TemporaryDirectory()
        let launcher = try folder.write("#!/bin/sh\ntouch \(folder.path)/launched\n", to: "dbus-launch")
        chmod(launcher, 0o755)
        let probe = try await DesktopProbe(
            "notification",
            environment: [
                "DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": bus.folder.path, "DISPLAY": ":0",
                "PATH": "\(folder.path):/usr/bin:/bin",
            ],
            bus: bus
        )
        try await probe.tell("begin", "work")
        if address.hasPrefix("unix:") {
            #expect(try await probe.backend(Self.name, is: "unavailable"))
        } else {
            #expect(try await eventually { try await server.displayedCount == 1 })
        }
        try await probe.shutdown()
        #expect(!FileManager.default.fileExists(atPath: folder.appending("launched")))
    }

    @Test("An app that uses libnotify itself is not disturbed", arguments: ["own", "own=loop"])
    func neighbour(own: String) async throws {
        try await onDesktop(own) { server, _, probe in
            #expect(try await probe.tell("own-show", "before") == "done")
            try await probe.tell("begin", "work") { try await server.displayedCount == 2 }
            for number in 1...20 { #expect(try await probe.tell("own-show", "beside \(number)") == "done") }
            #expect(try await eventually { try await server.displayedCount == 2 })
            try await probe.shutdown { try await server.displayedCount == 1 }
            #expect(try await probe.tell("own-show", "after") == "done")
            try await probe.tell("own-close") { try await server.displayedCount == 0 }
            #expect(await probe.logs("the app itself uses libnotify"))
        }
    }

    @Test func `When an app that begins to use libnotify later ends its use, D-Bus is used`() async throws {
        try await onDesktop { server, monitor, probe in
            try await probe.follow("begin first = 1 | own-load") { "\(try await server.displayedCount)" }
            #expect(try await probe.tell("own-show", "own") == "done")
            #expect(try await eventually { try await server.displayedCount == 2 })
            try await probe.tell("own-close")
            // This would end the process in the next call of libnotify.
            try await probe.follow("own-end | label second = second") { monitor.shown.last?.body ?? "" }
            #expect(await probe.logs("now sent over D-Bus, without libnotify: the app itself uses libnotify"))
            // Its `notify_init` comes too late to choose another name.
            #expect(Set(monitor.shown.map(\.applicationName)) == ["probe"])
            #expect(try await server.displayedCount == 1)
        }
    }

    @Test(.needs("cc", package: "gcc"), arguments: [true, false])
    func `When a call of GLib gets no descriptor, which ends other apps, D-Bus is used`(isEarly: Bool) async throws {
        let folder = try TemporaryDirectory()
        let library = try await exhausting(folder)
        if isEarly { try folder.write("", to: "exhausted") }
        try await onDesktop(environment: ["LD_PRELOAD": library]) { server, monitor, probe in
            try await probe.tell("begin", "before") { try await server.displayedCount == 1 }
            try folder.write("", to: "exhausted")
            try await probe.tell("label", "after") { monitor.shown.last?.body == "after" }
            #expect(await probe.logs("without libnotify: GLib failed: "))
            #expect(try await probe.backend(Self.name, is: "running"))
            #expect(try await way(of: probe).contains("GLib failed: "))
            #expect(try await server.displayedCount == 1)
        }
    }

    @Test(.needs("cc", package: "gcc"))
    func `An outcome that waits while GLib fails is sent over D-Bus`() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let folder = try TemporaryDirectory()
        let environment = ["LD_PRELOAD": try await exhausting(folder)]
        let probe = try await DesktopProbe("notification", "outcomes", environment: environment, bus: bus)
        try await probe.tell("begin", "first") { try await server.displayedCount == 1 }
        try folder.write("", to: "held")
        try await probe.tell("label", "second") { FileManager.default.fileExists(atPath: folder.appending("waiting")) }
        try await probe.deliver("succeed")
        try folder.write("", to: "exhausted")
        try FileManager.default.removeItem(atPath: folder.appending("held"))
        #expect(await probe.logs("without libnotify: GLib failed: "))
        // The outcome, which stays.
        #expect(try await eventually { try await server.historyCount == 1 })
        #expect(try await eventually { try await server.displayedCount == 1 })
    }

    /// A library with which the process seems to have no descriptors for GLib's calls, as if another thread took the
    /// last one after the check, while there is a file `exhausted`. While there is one `held`, they wait.
    private func exhausting(_ folder: TemporaryDirectory) async throws -> String {
        let source = try folder.write(
            """
            #define _GNU_SOURCE
            #include <errno.h>
            #include <fcntl.h>
            #include <string.h>
            #include <sys/prctl.h>
            #include <sys/syscall.h>
            #include <unistd.h>
            static int fails(void) {
                char name[16] = "";
                prctl(PR_GET_NAME, name);
                if (strcmp(name, "ind-libnotify")) return 0;
                while (!access("\(folder.path)/held", F_OK)) {
                    close(open("\(folder.path)/waiting", O_CREAT | O_WRONLY, 0600));
                    usleep(1000);
                }
                if (access("\(folder.path)/exhausted", F_OK)) return 0;
                errno = EMFILE;
                return 1;
            }
            int eventfd(unsigned count, int flags) { return fails() ? -1 : syscall(SYS_eventfd2, count, flags); }
            int pipe2(int ends[2], int flags) { return fails() ? -1 : syscall(SYS_pipe2, ends, flags); }
            """,
            to: "exhaust.c"
        )
        let library = folder.appending("exhaust.so")
        let compiled = try await Command.run("cc", ["-shared", "-fPIC", "-o", library, source], package: "gcc")
        try #require(compiled.status == 0, "\(compiled.error)")
        return library
    }

    @Test func `With another session bus than before, libnotify is not used`() async throws {
        let bus = try await PrivateBus()
        var server: NotificationServer? = try await NotificationServer(on: bus)
        let probe = try await DesktopProbe.notifying(on: bus)
        let other = try await PrivateBus()
        let next = try ScriptedServer(address: other.address)
        try await probe.tell("environment", "DBUS_SESSION_BUS_ADDRESS", other.address)
        await server?.kill()
        // The next attempt may follow at once.
        #expect(await probe.logs("no service owns"))
        server = try await NotificationServer(on: bus)
        try await probe.tell("begin", "work") { next.shown.count == 1 }
        #expect(await probe.logs("over D-Bus, without libnotify: it is connected to another bus"))
        try await probe.shutdown()
        #expect(next.shown.isEmpty)
        withExtendedLifetime(server) {}
    }

    @Test func `A server that reports no close to libnotify costs no memory`() async throws {
        let bus = try await PrivateBus()
        let server = try ScriptedServer(address: bus.address, reportsClosed: false)
        let probe = try await DesktopProbe.notifying(on: bus)
        // Reused memory is allocated in the first rounds; a leak grows in every round.
        var growth = [Int.max]
        while growth.count < 6, growth.last ?? 0 >= 500 {
            let before = try #require(Int(try await probe.tell("memory")))
            let target = server.lastIdentifier + 500
            while server.lastIdentifier < target { try await probe.tell("flip", "1000", "0.2") }
            growth.append(try #require(Int(try await probe.tell("memory"))) - before)
        }
        #expect(growth.last ?? .max < 500, "kB in each round: \(growth.dropFirst())")
    }

    @Test func `A server that replaces another during updates keeps no notification`() async throws {
        let bus = try await PrivateBus()
        var server = try await NotificationServer(on: bus)
        let probe = try await DesktopProbe("notification", bus: bus)
        for round in 0..<5 {
            try await probe.tell("begin", "round \(round)") { try await server.displayedCount == 1 }
            try await probe.tell("label", "update \(round)")
            await server.kill()
            try await probe.tell("label", "between \(round)")
            server = try await NotificationServer(on: bus)
            try await probe.follow("label after \(round) = 1 | end = 0") { "\(try await server.displayedCount)" }
        }
        withExtendedLifetime(server) {}
    }

    @Test(arguments: NotificationWay.allCases)
    func `Processes that end while the server hangs leave nothing when it resumes`(way: NotificationWay) async throws {
        try await onDesktop(through: way) { server, monitor, _ in
            var probes: [DesktopProbe] = []
            for number in 1...10 {
                let probe = try await DesktopProbe("notification", through: way, bus: server.bus)
                try await probe.tell("begin", "\(number)")
                probes.append(probe)
            }
            #expect(try await eventually { try await server.displayedCount == 10 })
            server.pause()
            for (index, probe) in probes.enumerated() {
                // Half of them are sending an update.
                if index.isMultiple(of: 2) {
                    try await probe.tell("label", "hanging \(index)") { monitor.output.contains("hanging \(index)\"") }
                }
                probe.send("quit")
            }
            for probe in probes { #expect(await eventually { !probe.isRunning }) }
            server.resume()
            #expect(try await eventually { try await server.historyCount >= 10 })
        }
    }

    @Test(.needs(.night))
    func `200 processes show, close and end on a busy machine, and leave nothing`() async throws {
        let (bus, server, monitor) = try await PrivateBus.withNotifications()
        let load = try (0..<2).map { _ in try Daemon("/bin/sh", ["-c", "while :; do :; done"]) }
        let rounds = 20
        for round in 0..<rounds {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<10 {
                    group.addTask {
                        let probe = try await DesktopProbe("notification", bus: bus)
                        try await probe.tell("begin", "\(round) \(number)")
                        if number.isMultiple(of: 2) {
                            #expect(await eventually { monitor.output.contains("\"\(round) \(number)\"") })
                        }
                        if number.isMultiple(of: 3) { try await probe.tell("end") }
                        await probe.quit()
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await eventually { try await server.displayedCount == 0 })
        }
        for process in load { await process.end() }
        try await monitor.catchUp()
        #expect(monitor.shown.count >= rounds * 5)
    }

    @Test(arguments: NotificationWay.allCases)
    func `The notification names the app's desktop file, where it has one`(way: NotificationWay) async throws {
        let data = try TemporaryDirectory()
        try data.write("[Desktop Entry]\n", to: "applications/probe.desktop")
        try await onDesktop(through: way, environment: ["XDG_DATA_HOME": data.path]) { _, monitor, probe in
            try await probe.tell("begin", "work") { monitor.shown.last?.hints["desktop-entry"] == "s probe" }
        }
    }
}
#endif
