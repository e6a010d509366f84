import IndicatorBackends
import TestSupport

@testable import BackendConfiguration
@testable import DesktopBackends

@Suite("'backends: auto'") struct AutomaticBackendsTests {
    private let folder: TemporaryDirectory

    init() throws {
        folder = try TemporaryDirectory()
        // A bus that may exist: nothing connects to it.
        try folder.write("", to: "bus")
    }

    /// Apart from the title of the terminal, which the tests may have.
    private func choice(
        _ variables: [String: String],
        app: String = "my-app"
    ) -> [(kind: String, fit: AutomaticFit)] {
        let environment = ["XDG_DATA_HOME": folder.path, "XDG_DATA_DIRS": "/nowhere", "XDG_RUNTIME_DIR": folder.path]
        let source = ConfigurationSource(for: app, environment: environment.merging(variables) { $1 })
        return source.automatic.filter { $0.kind != "terminalTitle" }
    }

    private func kinds(_ variables: [String: String], app: String = "my-app") -> String {
        choice(variables, app: app).filter(\.fit.isChosen).map(\.kind).joined(separator: " ")
    }

    #if DBus
    @Test(
        "chooses one backend for each place: the desktop and the service manager",
        arguments: [
            (["XDG_RUNTIME_DIR": ""], ""), (["XDG_RUNTIME_DIR": "", "XDG_CURRENT_DESKTOP": "GNOME"], ""),
            (["XDG_RUNTIME_DIR": "", "NOTIFY_SOCKET": "/run/notify"], "systemdStatus"), ([:], "dbusProperty"),
            (["XDG_CURRENT_DESKTOP": "KDE"], "dbusProperty desktopJob"),
            (["XDG_CURRENT_DESKTOP": "ubuntu:GNOME"], "desktopNotification dbusProperty"),
            (["WAYLAND_DISPLAY": "wayland-0"], "desktopNotification dbusProperty"),
            (["DISPLAY": ":0"], "desktopNotification dbusProperty"),
            (["DISPLAY": "localhost:10", "SSH_CONNECTION": "1"], "dbusProperty"),
        ] as [([String: String], String)]
    )
    func places(variables: [String: String], chosen: String) {
        #expect(kinds(variables) == chosen)
    }

    @Test func `chooses the dock for an app with a desktop file, except on Plasma, which shows the job there`() throws {
        try folder.write("", to: "applications/my-app.desktop")
        let (gnome, plasma) = (["XDG_CURRENT_DESKTOP": "GNOME"], ["XDG_CURRENT_DESKTOP": "KDE"])
        #expect(kinds(gnome) == "desktopNotification dbusProperty launcherEntry")
        #expect(!kinds(gnome, app: "other").contains("launcherEntry"))
        #expect(!kinds(plasma).contains("launcherEntry"))
    }

    @Test func `says why, also why not`() {
        let plasma = choice(["XDG_CURRENT_DESKTOP": "KDE"])
        #expect(plasma.count == Set(plasma.map(\.kind)).count)
        func reason(_ kind: String) -> String? { plasma.first { $0.kind == kind }?.fit.reason }
        #expect(reason("desktopJob") == "the desktop is KDE (XDG_CURRENT_DESKTOP)")
        #expect(reason("desktopNotification") == "the job shows the same")
        #expect(choice(["XDG_CURRENT_DESKTOP": "\u{1B}[31m"]).allSatisfy { !$0.fit.reason.contains("\u{1B}") })
    }

    private func load(
        _ text: String,
        environment: [String: String] = [:],
        defaults: [String: SettingValue] = [:]
    ) throws -> IndicatorConfiguration {
        let path = try folder.write(text, to: "indicator.yaml")
        return try IndicatorConfiguration.load(
            from: ConfigurationSource(
                for: "my-app",
                path: path,
                environment: [
                    "XDG_DATA_HOME": folder.path, "XDG_RUNTIME_DIR": folder.path, "XDG_CURRENT_DESKTOP": "GNOME",
                    "NOTIFY_SOCKET": "/run/notify",
                ].merging(environment) { $1 },
                defaults: defaults
            )
        )
    }

    @Test func `is a word or an element of the list, in the file and in the environment`() throws {
        try folder.write("", to: "applications/my-app.desktop")
        // Tests may have a terminal.
        func names(_ configuration: IndicatorConfiguration) -> [String] {
            configuration.backends.map(\.name).filter { $0 != "terminalTitle" }
        }
        let expected = ["desktopNotification", "dbusProperty", "launcherEntry", "systemdStatus"]
        #expect(try names(load("backends: auto")) == expected)
        #expect(try names(load("backends: [auto]")) == expected)
        #expect(try names(load("{}", environment: ["INDICATOR_BACKENDS": "auto"])) == expected)
        let more = try load("backends: [dbusProperty, auto, audit]\naudit: {kind: logFile, path: /tmp/x}")
        #expect(names(more) == ["dbusProperty", "desktopNotification", "launcherEntry", "systemdStatus", "audit"])
        // What fits elsewhere may have a section.
        try folder.write("", to: "applications/other.desktop")
        let other = try load("backends: auto\nlauncherEntry: {desktopFile: other.desktop}\ndesktopJob: {}")
        #expect(other.warnings == [])
        #expect(other.backends.first { $0.name == "launcherEntry" }?.values["desktopFile"] == "other.desktop")
        #expect(throws: ConfigurationError.self) { try load("backends: automatic") }
        #expect(throws: ConfigurationError.self) { try load("observe: auto") }
    }

    /// `indicator backends` printed that it is not chosen, and it was.
    @Test func `does not choose the dock for a default of the app that names no installed file`() throws {
        let defaults: [String: SettingValue] = ["launcherEntry.desktopFile": "other.desktop"]
        #expect(try !load("backends: auto", defaults: defaults).backends.contains { $0.name == "launcherEntry" })
        try folder.write("", to: "applications/other.desktop")
        #expect(try load("backends: auto", defaults: defaults).backends.contains { $0.name == "launcherEntry" })
    }

    @Test(arguments: ["launcherEntry", "desktopJob"]) func `Desktop files in folders are rejected`(section: String) {
        let error = #expect(throws: ConfigurationError.self) {
            try load("backends: [\(section)]\n\(section): {desktopFile: ../app.desktop}")
        }
        #expect(error?.description.contains("without a folder") == true, "\(String(describing: error))")
    }

    @Test("A bus that never answers does not delay the app: no backend has waited for it at first", .needs(.bus))
    func hangingBus() async throws {
        let bus = try await PrivateBus()
        bus.pause()
        let backends = ["desktopJob", "launcherEntry", "sleepInhibitor", "dbusProperty", "desktopNotification"]
        let probe = try await DesktopProbe(
            backends: "auto, " + backends.joined(separator: ", "),
            // Its directory exists; nothing reads it.
            environment: ["XDG_CURRENT_DESKTOP": "", "NOTIFY_SOCKET": bus.folder.appending("notify")],
            on: bus,
            are: nil
        )
        // A backend that had waited would be unavailable.
        let states = try await probe.tell("first-status")
        for backend in backends { #expect(states.contains("\(backend)=starting"), "\(states)") }
        try await probe.tell("begin", "Copying")
        for backend in backends { #expect(try await probe.backend(backend, is: "unavailable")) }
        try await probe.follow("end | shutdown")
        bus.resume()
    }
    #endif
}
