#if DBus
import Foundation
import TestSupport
import Testing

/// An app that has run out of file descriptors, with every backend.
@Suite(.needs(.notifications)) struct DescriptorTests {
    @Test func `With any limit from the start, the app keeps running and its backends stop`() async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let folder = try TemporaryDirectory()
        for limit in 3...40 {
            let probe = try await DesktopProbe(
                "notification",
                "property",
                "title",
                "log=\(folder.path)/log",
                bus: bus,
                descriptors: limit
            )
            try await probe.tell("begin", "work")
            let states = try await probe.tell("status")
            try await probe.tell("label", "changed")
            try await probe.tell("end")
            try await probe.shutdown()
            #expect(probe.isRunning, "ulimit -n \(limit): \(states)\n\(probe.log)")
        }
        #expect(try await eventually { try await server.displayedCount == 0 })
    }

    @Test("With any limit from the start, an app with a config file keeps running, reloads and shuts down")
    func configuredLimits() async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let folder = try TemporaryDirectory()
        let config = "\(folder.path)/indicator.yaml"
        let backends = "backends: [terminalTitle, logFile, desktopNotification, dbusProperty]"
        let text = "\(backends)\nstartDelay: 0\nlogFile: {path: \(folder.path)/log}\n"
        try text.write(toFile: config, atomically: true, encoding: .utf8)
        for limit in 3...40 {
            let probe = try await DesktopProbe("config=\(config)", bus: bus, descriptors: limit)
            try await probe.tell("begin", "work")
            try await probe.tell("flip", "300", "0.01")
            // Without a descriptor, the signal has its default action, as in any app. The backends, which connect at
            // the same time, may have taken it.
            let handlesHangup = try Self.handlesHangup(probe.processID)
            #expect(handlesHangup || limit <= 20, "ulimit -n \(limit): \(probe.log)")
            if handlesHangup { try await probe.tell("hangup") }
            try await probe.tell("exhaust")
            try await probe.tell("label", "changed")
            try await probe.tell("flip", "300", "0.01")
            try await probe.tell("end")
            try await probe.shutdown()
            #expect(probe.isRunning, "ulimit -n \(limit): \(probe.log)")
        }
        #expect(try await eventually { try await server.displayedCount == 0 })
    }

    private static func handlesHangup(_ process: pid_t) throws -> Bool {
        let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        // A set of bits, of which the lowest is signal 1.
        let caught = try #require(status.firstMatch(of: /SigCgt:\t([0-9a-f]+)/).flatMap { UInt64($0.1, radix: 16) })
        return caught & 1 != 0
    }

    @Test("The backends leave descriptors for libdispatch, which the app first uses after they have connected")
    func reserve() async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        // With less than 8, libdispatch itself has too few.
        for limit in 8...16 {
            let probe = try await DesktopProbe("notification", "property", bus: bus, descriptors: limit)
            try await probe.tell("begin", "work")
            for backend in ["desktopNotification", "dbusProperty"] {
                #expect(try await eventually { try await !probe.status(of: backend).contains("starting") })
            }
            try await probe.tell("task")
            try await probe.shutdown()
        }
        withExtendedLifetime(server) {}
    }

    @Test(
        "An app whose threads compete for the last descriptors keeps running, and leaves no notification",
        arguments: ["hog", "edge", "turns"],
        [true, false]
    )
    func competition(kind: String, isEarly: Bool) async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        #if THREAD_SANITIZER
        let rounds = 2
        #else
        let rounds = 8
        #endif
        for round in 0..<rounds {
            // From the start, GLib starts during the competition.
            let arguments = isEarly ? "compete=\(kind)" : "no competition"
            let probe = try await DesktopProbe("notification", arguments, bus: bus, descriptors: 32 + round)
            if !isEarly {
                #expect(try await probe.backend("desktopNotification", is: "running"))
                #expect(probe.log.contains("through libnotify"))
                try await probe.tell("compete", kind)
            }
            for number in 0..<10 {
                try await probe.tell("begin", "\(round) \(number)")
                try await probe.tell("progress", "0.\(number)")
                try await probe.tell("end")
            }
            try await probe.tell("compete-end")
            #expect(probe.isRunning, "\(probe.log)")
            // Afterwards, notifications are shown again, on whichever way.
            try await probe.tell("begin", "after \(round)")
            #expect(try await probe.backend("desktopNotification", is: "running"))
            #expect(try await eventually { try await server.displayedCount == 1 }, "\(probe.log)")
            try await probe.shutdown()
            #expect(probe.isRunning, "\(probe.log)")
            #expect(try await eventually { try await server.displayedCount == 0 })
        }
    }

    @Test("When descriptors run out later, the app keeps running, and the backends recover when some are free")
    func exhaustion() async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let folder = try TemporaryDirectory()
        let probe = try await DesktopProbe(
            "notification",
            "property",
            "log=\(folder.path)/log",
            bus: bus,
            descriptors: 64
        )
        for backend in ["desktopNotification", "dbusProperty"] {
            #expect(try await probe.backend(backend, is: "running"))
        }
        try await probe.tell("exhaust")
        // Existing connections continue to work.
        try await probe.tell("begin", "without descriptors")
        #expect(try await eventually { try await server.displayedCount == 1 })
        // New connections fail.
        await bus.kill()
        for backend in ["desktopNotification", "dbusProperty"] {
            #expect(try await probe.backend(backend, is: "unavailable"))
        }
        try await bus.start()
        let second = try await NotificationServer(on: bus)
        for backend in ["desktopNotification", "dbusProperty"] {
            #expect(try await probe.backend(backend, is: "unavailable"))
        }
        try await probe.tell("label", "still without")
        #expect(probe.isRunning)
        try await probe.tell("release")
        #expect(try await eventually { try await second.displayedCount == 1 })
        for backend in ["desktopNotification", "dbusProperty"] {
            #expect(try await probe.backend(backend, is: "running"))
        }
        try await probe.shutdown()
        #expect(try await eventually { try await second.displayedCount == 0 })
    }
}
#endif
