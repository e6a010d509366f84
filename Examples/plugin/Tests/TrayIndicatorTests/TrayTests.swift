import Foundation
import IndicatorBackends
import IndicatorTesting
import Logging
import Synchronization
import Testing

@testable import TrayIndicator

/// The icon in a real tray on a bus of its own.
@Suite(.serialized) struct TrayTests {
    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The icon does what an indicator expects`(_ expectation: BackendCompatibility.Case) async throws {
        let desktop = try await TestDesktop()
        let context = BackendContext(name: "tray", applicationName: "app", logger: Logger(label: "test"))
        var settings = TraySettings()
        settings.bus = .address(desktop.address)
        let suite = BackendCompatibility(
            make: { [settings] in TraySession.backend(context, settings) },
            surface: BackendCompatibility.Surface(
                take: desktop.endTray,
                giveBack: desktop.startTray,
                shown: desktop.items
            )
        )
        try await suite.check(expectation)
    }

    @Test func `A config file chooses it, and it shows label, progress and attention`() async throws {
        let desktop = try await TestDesktop()
        try desktop.write("startDelay: 0\nbackends: [tray]\ntray: {bus: $BUS, color: '#ff8000'}\n")
        let indicator = IndicatorManager.configured(from: desktop.source)
        let activity = indicator.begin("<Copying>")
        activity.progress = 0.4
        try await desktop.shows("Active 22:1936 44:7744 app|&lt;Copying&gt;, 40 %")
        activity.attention = "Replace it?"
        try await desktop.shows("NeedsAttention 22:1936 44:7744 app|Replace it?, &lt;Copying&gt;, 40 %")
        activity.end()
        try await desktop.shows("")
        await indicator.shutdown()
    }

    @Test func `Mistakes in its section are found`() async throws {
        let desktop = try await TestDesktop()
        try desktop.write("backends: [tray]\ntray: {colour: red, color: red}\n")
        let error = await #expect(throws: ConfigurationError.self) { try await desktop.source.availability() }
        let text = try #require(error).description
        #expect(text.contains("indicator.yaml:2:8: error: unknown key 'colour' in 'tray', did you mean 'color'?"))
        #expect(text.contains("'color': expected a colour such as #3daee9, found 'red'"))
    }

    @Test func `Auto chooses it where there is a tray, and there is advice where there is none`() async throws {
        let desktop = try await TestDesktop()
        func tray() async throws -> (isChosen: Bool?, problem: Unavailability?) {
            let availability = try await desktop.source.availability().first { $0.name == "tray" }?.availability
            var problem: Unavailability?
            if case .failure(let failure) = availability { problem = failure }
            return (desktop.source.automatic.first { $0.kind == "tray" }?.fit.isChosen, problem)
        }
        try desktop.write("backends: auto\ntray: {bus: $BUS}\n")
        #expect(try await tray() == (true, nil))
        try desktop.endTray()
        let (isChosen, problem) = try await tray()
        #expect(isChosen == false)
        #expect(problem?.reason == "no service owns org.kde.StatusNotifierWatcher on this bus")
        #expect(problem?.help?.contains("add a system tray to the panel") == true)
    }
}

/// A bus with a tray, and the folder of a user. Needs dbus-daemon, busctl and python3-dbus.
final class TestDesktop: Sendable {
    let address: String
    let source: ConfigurationSource
    private let folder: URL
    private let bus: Process
    private let tray = Mutex<Process?>(nil)

    init() async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "tray-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        address = "unix:path=\(folder.path)/bus"
        bus = try Self.start("dbus-daemon", ["--session", "--nofork", "--print-address", "--address=\(address)"])
            .process
        var registry = BackendRegistry.standard
        registry.register(.tray)
        var source = ConfigurationSource(for: "app", registry: registry)
        source.path = folder.appending(path: "indicator.yaml").path
        source.environment["DBUS_SESSION_BUS_ADDRESS"] = address
        self.source = source
        try startTray()
    }

    deinit {
        if let process = tray.withLock({ $0 }) { kill(process.processIdentifier, SIGKILL) }
        kill(bus.processIdentifier, SIGKILL)
        try? FileManager.default.removeItem(at: folder)
    }

    @Sendable func startTray() throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "watcher.py").path
        let process = try Self.start("/usr/bin/python3", [script, address]).process
        tray.withLock { $0 = process }
    }

    @Sendable func endTray() throws {
        // A test's process may have blocked SIGTERM, which its children inherit.
        if let process = tray.withLock({ $0.take() }) { kill(process.processIdentifier, SIGKILL) }
        while try items() != "" { usleep(10_000) }
    }

    /// What the tray shows; empty without one. The answer follows what was sent to it before.
    @Sendable func items() throws -> String {
        let name = "org.kde.StatusNotifierWatcher"
        let call = ["call", name, "/StatusNotifierWatcher", name, "Items"]
        return try Self.start("busctl", ["--address=\(address)"] + call).output
    }

    func shows(_ text: String) async throws {
        let end = ContinuousClock.now + .seconds(60)
        var shown = try items()
        while shown != "s \"\(text)\"\n" {
            try #require(.now < end, "the tray shows \(shown)")
            try await Task.sleep(for: .milliseconds(20))
            shown = try items()
        }
    }

    func write(_ configuration: String) throws {
        try configuration.replacing("$BUS", with: address).write(
            to: folder.appending(path: "indicator.yaml"),
            atomically: true,
            encoding: .utf8
        )
    }

    /// Starts a program, and returns when it has written something, with that.
    private static func start(_ program: String, _ arguments: [String]) throws -> (process: Process, output: String) {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return (process, String(decoding: output.fileHandleForReading.availableData, as: UTF8.self))
    }
}
