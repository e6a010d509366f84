#if DBus
import TestSupport

/// An app that has run out of file descriptors, with every backend.
@Suite(.needs(.notifications)) struct DescriptorTests {
    @Test func `With any limit from the start, the app keeps running and its backends stop`() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let folder = try TemporaryDirectory()
        for limit in 3...40 {
            let log = "log=\(folder.path)/log"
            let probe = try await DesktopProbe("notification", "property", "title", log, bus: bus, descriptors: limit)
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
        let (bus, server) = try await PrivateBus.withServer()
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
        let (bus, server) = try await PrivateBus.withServer()
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
        "Threads that compete for the last descriptors end no app",
        arguments: ["hog", "edge", "turns"],
        [true, false]
    )
    func competition(kind: String, isEarly: Bool) async throws {
        let (bus, server) = try await PrivateBus.withServer()
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
        let (bus, server) = try await PrivateBus.withServer()
        let folder = try TemporaryDirectory()
        let log = "log=\(folder.path)/log"
        let probe = try await DesktopProbe("notification", "property", log, bus: bus, descriptors: 64)
        #expect(try await probe.backends("desktopNotification", "dbusProperty", are: "running"))
        try await probe.tell("exhaust")
        // Existing connections continue to work.
        try await probe.tell("begin", "without descriptors") { try await server.displayedCount == 1 }
        // New connections fail.
        await bus.kill()
        #expect(try await probe.backends("desktopNotification", "dbusProperty", are: "unavailable"))
        try await bus.start()
        let second = try await NotificationServer(on: bus)
        #expect(try await probe.backends("desktopNotification", "dbusProperty", are: "unavailable"))
        try await probe.tell("label", "still without")
        #expect(probe.isRunning)
        try await probe.tell("release") { try await second.displayedCount == 1 }
        #expect(try await probe.backends("desktopNotification", "dbusProperty", are: "running"))
        try await probe.shutdown { try await second.displayedCount == 0 }
    }
}

/// An app that has reached its limit of threads or of memory, with every backend.
@Suite struct ThreadLimitTests {
    private static let message = "No thread can be created"

    @Test("Without a thread, the indicator is off, says so once, and is on when there are threads again")
    func off() async throws {
        let folder = try TemporaryDirectory()
        let log = "\(folder.path)/log"
        let probe = try await DesktopProbe("log=\(log)", "threads=0", bus: nil)
        for number in 0..<100 {
            try await probe.tell("begin", "work")
            try await probe.tell("label", "\(number)")
            try await probe.tell("flip", "100", "0")
            try await probe.tell("end")
        }
        #expect(probe.log.components(separatedBy: Self.message).count == 2, "\(probe.log)")
        #expect(!FileManager.default.fileExists(atPath: log))
        try await probe.tell("unlimit")
        try await probe.tell("begin", "later")
        try await expectEventually("\(probe.log)") {
            try await probe.tell("end")
            try await probe.tell("begin", "later")
            return (try? String(contentsOfFile: log, encoding: .utf8))?.contains("later") == true
        }
        #expect(probe.log.components(separatedBy: Self.message).count == 2)
        try await probe.shutdown()
    }

    @Test("Without a thread, an indicator is shut down, and the app runs on")
    func shutdown() async throws {
        for limit in ["threads=0", "memory=1024"] {
            let probe = try await DesktopProbe("title", limit, bus: nil)
            try await probe.tell("begin", "work")
            try await probe.shutdown()
            #expect(probe.isRunning)
        }
    }

    @Test("With any limit of threads, the app runs on, and backends stop", .needs(.notifications), .needs(.root))
    func threads() async throws { try await expectLife { (0...12).map { "threads=\($0)" } } }

    @Test("With any limit of memory, the app runs on, and backends stop", .needs(.notifications))
    func memory() async throws {
        // Each thread may get an arena of malloc(3), for which 128 MB are mapped at first.
        let megabytes = Array(4..<64) + stride(from: 64, to: 640, by: 8)
        let kilobytes = [512, 1024, 2048] + megabytes.map { $0 * 1024 }
        try await expectLife { kilobytes.map { "memory=\($0)" } }
    }

    private func expectLife(with limits: () -> [String]) async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let folder = try TemporaryDirectory()
        let text = """
            backends: [terminalTitle, logFile, desktopNotification, dbusProperty]
            startDelay: 0
            logFile: {path: \(folder.path)/configured-log}
            """
        let config = try folder.write(text, to: "indicator.yaml")
        for limit in limits() {
            for parts in [["notification", "property", "title"], ["config=\(config)"]] {
                let (log, last) = ("log=\(folder.path)/log", parts.count > 1 ? parts[1] : "")
                let probe = try await DesktopProbe(parts[0], parts.last!, last, log, limit, bus: bus)
                try await probe.tell("begin", "work")
                try await probe.tell("flip", "300", "0.01")
                try await probe.tell("label", "changed")
                try await probe.tell("end")
                try await probe.shutdown()
                #expect(probe.isRunning, "\(limit): \(probe.log)")
            }
        }
        #expect(try await eventually { try await server.displayedCount == 0 })
    }
}
#endif
