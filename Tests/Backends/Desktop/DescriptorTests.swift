#if DBus
import TestSupport

/// An app that has run out of file descriptors, with every backend.
@Suite(.needs(.notifications)) struct DescriptorTests {
    @Test func `With any limit from the start, the app runs on and reloads its config file, and backends stop`()
        async throws
    {
        let limits = Array(3...40)
        try await expectLife(with: limits.map { "descriptors=\($0)" }) { probe, index in
            // Without a descriptor, the signal has its default action, as in any app. The backends, which connect at
            // the same time, may have taken it.
            let handlesHangup = try Self.handlesHangup(probe.processID)
            #expect(handlesHangup || limits[index] <= 20, "ulimit -n \(limits[index]): \(probe.log)")
            if handlesHangup { try await probe.tell("hangup") }
            try await probe.follow("exhaust | label changed | flip 300 0.01")
        }
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
            try await probe.follow("task | shutdown")
        }
        withExtendedLifetime(server) {}
    }

    @Test(arguments: ["hog", "edge", "turns"], [true, false])
    func `Threads that compete for the last descriptors end no app`(kind: String, isEarly: Bool) async throws {
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
                #expect(await probe.logs("through libnotify"))
                try await probe.tell("compete", kind)
            }
            for number in 0..<10 { try await probe.follow("begin work | progress 0.\(number) | end") }
            try await probe.tell("compete-end")
            #expect(probe.isRunning, "\(probe.log)")
            // Afterwards, notifications are shown again, on whichever way.
            try await probe.tell("begin", "after \(round)") { try await server.displayedCount == 1 }
            #expect(try await probe.backend("desktopNotification", is: "running"))
            try await probe.shutdown { try await server.displayedCount == 0 }
            #expect(probe.isRunning, "\(probe.log)")
        }
    }

    @Test("When descriptors run out later, the app keeps running, and the backends recover when some are free")
    func exhaustion() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        let log = "log=\(bus.folder.path)/log"
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

/// Runs two apps at each limit, one of which has a config file: they show, change, hide and shut down, and do not end.
///
/// - Parameter meanwhile: what the one with a config file does besides, with the index of the limit.
private func expectLife(
    with limits: [String],
    _ meanwhile: (DesktopProbe, Int) async throws -> Void = { _, _ in }
) async throws {
    let (bus, server) = try await PrivateBus.withServer()
    let (parts, log) = ("notification property title", "log=\(bus.folder.path)/log")
    let configuration = """
        backends: [terminalTitle, logFile, desktopNotification, dbusProperty]
        logFile: {path: \(bus.folder.path)/configured-log}
        """
    for (index, limit) in limits.enumerated() {
        for text in [nil, configuration] {
            let probe = try await DesktopProbe(parts, log, limit, configuration: text, bus: bus)
            try await probe.follow("begin work | flip 300 0.01")
            if text != nil { try await meanwhile(probe, index) }
            try await probe.follow("label changed | end | shutdown")
            #expect(probe.isRunning, "\(limit): \(probe.log)")
        }
    }
    #expect(try await eventually { try await server.displayedCount == 0 })
}

/// An app that has reached its limit of threads or of memory, with every backend.
@Suite struct ThreadLimitTests {
    private static let message = "No thread can be created"

    @Test("Without a thread, the indicator is off, says so once, and is on when there are threads again")
    func off() async throws {
        let folder = try TemporaryDirectory()
        let log = "\(folder.path)/log"
        let probe = try await DesktopProbe("log=\(log)", "threads=0", bus: nil)
        for number in 0..<100 { try await probe.follow("begin work | label \(number) | flip 100 0 | end") }
        #expect(probe.log.components(separatedBy: Self.message).count == 2, "\(probe.log)")
        #expect(!FileManager.default.fileExists(atPath: log))
        try await probe.follow("unlimit | begin later")
        try await expectEventually("\(probe.log)") {
            try await probe.follow("end | begin later")
            return (try? String(contentsOfFile: log, encoding: .utf8))?.contains("later") == true
        }
        #expect(probe.log.components(separatedBy: Self.message).count == 2)
        try await probe.shutdown()
    }

    @Test("With any limit of threads, the app runs on, and backends stop", .needs(.notifications), .needs(.root))
    func threads() async throws { try await expectLife(with: (0...12).map { "threads=\($0)" }) }

    @Test(.needs(.notifications)) func `With any limit of memory, the app runs on, and backends stop`() async throws {
        // Each thread may get an arena of malloc(3), for which 128 MB are mapped at first.
        let megabytes = Array(4..<64) + stride(from: 64, to: 640, by: 8)
        let kilobytes = [512, 1024, 2048] + megabytes.map { $0 * 1024 }
        try await expectLife(with: kilobytes.map { "memory=\($0)" })
    }
}
#endif
