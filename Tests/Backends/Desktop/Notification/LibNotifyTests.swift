#if DBus
import TestSupport

@testable import DesktopBackends

/// When libnotify sends, and that an app is safe from it.
@Suite(.needs(.notifications)) struct LibNotifyTests {
    private static let direct = "over D-Bus, without libnotify: "

    /// How a probe says that it sends, after the name of the server.
    private func way(of probe: DesktopProbe) async throws -> String {
        let text = try await probe.tell("available")
        #expect(text.hasPrefix("dunst "))
        return text.components(separatedBy: ") ").dropFirst().joined(separator: ") ")
    }

    /// Makes a library of a program in C.
    private func library(_ program: String, named name: String, in folder: TemporaryDirectory) async throws -> String {
        let source = try folder.write(program, to: "\(name).c")
        let library = folder.appending(name)
        let compiled = try await Command.run("cc", ["-shared", "-fPIC", "-o", library, source], package: "gcc")
        try #require(compiled.status == 0, "\(compiled.error)")
        return library
    }

    @Test("The availability and the log say how notifications are sent, and why", .needs("cc", package: "gcc"))
    func reasons() async throws {
        // They mask the installed library: a file that is no library, and a library without functions.
        let (invalid, empty) = (try TemporaryDirectory(), try TemporaryDirectory())
        let file = try invalid.write("", to: "libnotify.so.4")
        _ = try await library("", named: "libnotify.so.4", in: empty)
        let unloaded = Self.direct + "libnotify (package libnotify4) cannot be loaded: "
        let rows: [(parts: String, libraries: TemporaryDirectory?, expected: String)] = [
            ("", nil, "through libnotify"),
            ("", invalid, unloaded + "\(file): file too short"),
            ("", empty, unloaded + "libnotify.so.4 lacks g_main_context_new"),
            ("own", nil, Self.direct + "the app itself uses libnotify, which is not thread-safe"),
            ("descriptors=20", nil, Self.direct + "the process has too few descriptors left"),
        ]
        for row in rows {
            try await onDesktop(row.parts, environment: ["LD_LIBRARY_PATH": row.libraries?.path ?? ""]) { desk in
                #expect(await desk.probe.logs(row.expected), "\(desk.probe.log)")
                #expect(try await way(of: desk.probe) == row.expected)
                try await desk.follow("begin work = work | end = nothing")
            }
        }
        try await onDesktop(through: .dbus) { #expect(await $0.probe.logs(Self.direct + "as configured")) }
    }

    @Test(arguments: [
        ("", "running", "through libnotify"), ("unix:path=/nowhere;autolaunch:", "unavailable", ""),
        ("autolaunch:", "running", direct + "GLib would look for the bus elsewhere, or start one"),
    ])
    func `GDBus never runs dbus-launch`(address: String, status: String, way: String) async throws {
        let (bus, folder) = (try await PrivateBus(), try TemporaryDirectory())
        let launcher = try folder.write("#!/bin/sh\ntouch \(folder.path)/launched\n", to: "dbus-launch")
        chmod(launcher, 0o755)
        let environment = [
            "DBUS_SESSION_BUS_ADDRESS": address, "XDG_RUNTIME_DIR": bus.folder.path, "DISPLAY": ":0",
            "PATH": "\(folder.path):/usr/bin:/bin",
        ]
        try await onDesktop(environment: environment, status: status, on: bus) { desk in
            try await desk.follow(status == "running" ? "& \(way) | begin work = work" : "begin work")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.appending("launched")))
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
        func loads(_ probe: DesktopProbe) async throws -> Bool {
            try await Command.run("cat", ["/proc/\(probe.processID)/maps"]).output.contains("libnotify")
        }
        let tool = try await Command.run("readelf", ["-d", try Command.built("indicator")], package: "binutils")
        #expect(tool.output.contains("libc.so") && !tool.output.contains(/lib(dbus|glib|notify|systemd)/))
        let without = try await DesktopProbe(on: PrivateBus())
        #expect(try await !loads(without))
        for way in NotificationWay.allCases {
            try await onDesktop(through: way) { desk in
                let isLoaded = try await loads(desk.probe)
                #expect(isLoaded == (way == .auto), "\(way)")
            }
        }
    }

    @Test("An app that uses libnotify itself is not disturbed", arguments: ["own", "own=loop"])
    func neighbour(own: String) async throws {
        try await onDesktop(own) { desk in
            #expect(try await desk.probe.tell("own-show", "before") == "done")
            try await desk.follow("begin work = 2: work")
            for number in 1...20 { #expect(try await desk.probe.tell("own-show", "beside \(number)") == "done") }
            #expect(try await eventually { try await desk.server.displayedCount == 2 })
            try await desk.probe.shutdown { try await desk.server.displayedCount == 1 }
            #expect(try await desk.probe.tell("own-show", "after") == "done")
            try await desk.follow("own-close = nothing")
            #expect(await desk.probe.logs("the app itself uses libnotify"))
        }
    }

    @Test func `When an app that begins to use libnotify later ends its use, D-Bus is used`() async throws {
        try await onDesktop { desk in
            // After this end, the next call of libnotify would end the process.
            try await desk.follow("begin first = first | own-load | own-show own = 2: own | own-close | own-end")
            try await desk.follow("label second = second | & now sent \(Self.direct)the app itself uses libnotify")
            // Its `notify_init` comes too late to choose another name.
            #expect(Set(desk.shown.map(\.applicationName)) == ["probe"])
        }
    }

    @Test(.needs("cc", package: "gcc"), arguments: [true, false])
    func `When a call of GLib gets no descriptor, which ends other apps, D-Bus is used`(isEarly: Bool) async throws {
        let folder = try TemporaryDirectory()
        let library = try await exhausting(folder)
        if isEarly { try folder.write("", to: "exhausted") }
        try await onDesktop(environment: ["LD_PRELOAD": library]) { desk in
            try await desk.follow("begin before = before")
            try folder.write("", to: "exhausted")
            try await desk.follow("label after = after | & without libnotify: GLib failed: | ? running")
            #expect(try await way(of: desk.probe).contains("GLib failed: "))
        }
    }

    @Test(.needs("cc", package: "gcc"))
    func `An outcome that waits while GLib fails is sent over D-Bus`() async throws {
        let folder = try TemporaryDirectory()
        let environment = ["LD_PRELOAD": try await exhausting(folder)]
        try await onDesktop("outcomes", environment: environment, leaving: 1) { desk in
            try await desk.follow("begin first = first")
            try folder.write("", to: "held")
            let waiting = folder.appending("waiting")
            try await desk.probe.tell("label", "second") { FileManager.default.fileExists(atPath: waiting) }
            try await desk.probe.deliver("succeed")
            try folder.write("", to: "exhausted")
            try FileManager.default.removeItem(atPath: folder.appending("held"))
            #expect(await desk.probe.logs("without libnotify: GLib failed: "))
            #expect(try await eventually { try await desk.server.historyCount == 1 })
        }
    }

    /// A library with which the process seems to have no descriptors for GLib's calls, as if another thread took the
    /// last one after the check, while there is a file `exhausted`. While there is one `held`, they wait.
    private func exhausting(_ folder: TemporaryDirectory) async throws -> String {
        let program = """
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
            """
        return try await library(program, named: "exhaust.so", in: folder)
    }

    @Test func `With another session bus than before, libnotify is not used`() async throws {
        try await onDesktop { desk in
            let other = try await PrivateBus()
            let next = try ScriptedServer(on: other)
            try await desk.probe.tell("environment", "DBUS_SESSION_BUS_ADDRESS", other.address)
            await desk.server.kill()
            // The next attempt may follow at once.
            try await desk.follow("& no service owns | server start")
            try await desk.probe.tell("begin", "work") { next.shown.count == 1 }
            try await desk.follow("& \(Self.direct)it is connected to another bus | shutdown")
            #expect(await eventually { next.shown.isEmpty })
        }
    }

    @Test func `A server that reports no close to libnotify costs no memory`() async throws {
        try await onDesktop(server: { try ScriptedServer(on: $0, .notReporting) }) { desk in
            try await desk.probe.expectFlatMemory(below: 500) {
                let target = desk.server.lastIdentifier + 500
                while desk.server.lastIdentifier < target { try await desk.probe.tell("flip", "1000", "0.2") }
            }
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `Processes that end while the server hangs leave nothing when it resumes`(way: NotificationWay) async throws {
        try await onDesktop(through: way) { desk in
            var probes: [DesktopProbe] = []
            for number in 1...10 {
                probes.append(try await DesktopProbe("notification", through: way, bus: desk.bus))
                try await probes.last?.tell("begin", "\(number)")
            }
            #expect(try await eventually { try await desk.server.displayedCount == 10 })
            desk.server.pause()
            for (index, probe) in probes.enumerated() {
                // Half of them are sending an update.
                if index.isMultiple(of: 2) {
                    let text = "hanging \(index)"
                    try await probe.tell("label", text) { desk.monitor.output.contains("\(text)\"") }
                }
                probe.send("quit")
            }
            for probe in probes { #expect(await eventually { !probe.isRunning }) }
            desk.server.resume()
            #expect(try await eventually { try await desk.server.historyCount >= 10 })
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `The notification names the app's desktop file, where it has one`(way: NotificationWay) async throws {
        let data = try TemporaryDirectory()
        try data.write("[Desktop Entry]\n", to: "applications/probe.desktop")
        try await onDesktop(through: way, environment: ["XDG_DATA_HOME": data.path]) { desk in
            try await desk.follow("begin work = work")
            #expect(desk.shown.last?.hints["desktop-entry"] == "s probe")
        }
    }
}
#endif
