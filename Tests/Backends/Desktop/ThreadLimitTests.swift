#if DBus
import Foundation
import TestSupport
import Testing

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
        let isShown = try await eventually {
            try await probe.tell("end")
            try await probe.tell("begin", "later")
            return (try? String(contentsOfFile: log, encoding: .utf8))?.contains("later") == true
        }
        #expect(isShown, "\(probe.log)")
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

    @Test(
        "With any limit of threads, the app keeps running, shuts down, and the backends stop",
        .needs(.notifications),
        .needs(.root)
    )
    func threads() async throws { try await expectLife { (0...12).map { "threads=\($0)" } } }

    @Test("With any limit of memory, the app keeps running, shuts down, and the backends stop", .needs(.notifications))
    func memory() async throws {
        // Each thread may get an arena of malloc(3), for which 128 MB are mapped at first.
        let megabytes = Array(4..<64) + stride(from: 64, to: 640, by: 8)
        let kilobytes = [512, 1024, 2048] + megabytes.map { $0 * 1024 }
        try await expectLife { kilobytes.map { "memory=\($0)" } }
    }

    private func expectLife(with limits: () -> [String]) async throws {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let folder = try TemporaryDirectory()
        let text = """
            backends: [terminalTitle, logFile, desktopNotification, dbusProperty]
            startDelay: 0
            logFile: {path: \(folder.path)/configured-log}
            """
        let config = try folder.write(text, to: "indicator.yaml")
        for limit in limits() {
            for parts in [["notification", "property", "title"], ["config=\(config)"]] {
                let probe = try await DesktopProbe(
                    parts[0],
                    parts.last!,
                    parts.count > 1 ? parts[1] : "",
                    "log=\(folder.path)/log",
                    limit,
                    bus: bus
                )
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
