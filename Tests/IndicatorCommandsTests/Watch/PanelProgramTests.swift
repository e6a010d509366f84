#if DBus
import TestSupport

/// What panels draw of `watch --format`: the real programs, each with a screen of its own.
@Suite(.needs(.bus)) struct PanelProgramTests {
    enum Panel {
        case polybar, swaybar, waybar

        /// The line that shows a text, written by hand from the panel's own documentation.
        func line(_ text: String) -> String {
            self == .swaybar ? #"{"version":1}\n[[{"full_text":"\#(text)"}],"# : text
        }
    }

    /// A panel that shows the lines of a command, and the screen that it is drawn on.
    private struct Drawn {
        let picture: () async throws -> String
        let daemon: Daemon
        let folder: TemporaryDirectory

        init(_ panel: Panel, command: String, isJSON: Bool) async throws {
            folder = try TemporaryDirectory(endsProcesses: true)
            let script = try folder.write("#!/bin/sh\n\(command)\n", to: "lines")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script)
            switch panel {
            case .polybar:
                let screen = try await Screen()
                let file = try folder.write(
                    """
                    [bar/panel]
                    modules-left = indicator
                    [module/indicator]
                    type = custom/script
                    exec = \(script)
                    tail = true
                    """,
                    to: "config.ini"
                )
                let variables = ["DISPLAY": screen.display, "HOME": folder.path, "LC_ALL": "C.UTF-8"]
                daemon = try Daemon("polybar", ["--config=\(file)", "panel"], environment: variables)
                picture = { try await screen.picture() }
            case .swaybar:
                // Started below: as the user that sway has here, it could not read the script.
                let bar = "bar {\nswaybar_command true\nstatus_command \(script)\n}"
                let sway = try await Sway(configuration: bar)
                daemon = try sway.start("swaybar", ["-b", "bar-0"])
                picture = { try await sway.picture() }
            case .waybar:
                let kind = isJSON ? #""return-type": "json""# : #""escape": true"#
                let file = try folder.write(
                    #"{"modules-right": ["custom/lines"], "custom/lines": {"exec": "\#(script)", \#(kind)}}"#,
                    to: "config"
                )
                let style = try folder.write("* { font-size: 13px; }", to: "style.css")
                let sway = try await Sway()
                daemon = try sway.start(
                    "waybar",
                    ["--config", file, "--style", style],
                    environment: ["GDK_BACKEND": "wayland", "GSETTINGS_BACKEND": "memory", "NO_AT_BRIDGE": "1"]
                )
                picture = { try await sway.picture() }
            }
        }
    }

    @Test(
        "Polybar draws what it would draw of the text itself, with markup as text, and nothing before and afterwards",
        .needs(.screen),
        .needs("polybar", package: "polybar")
    )
    func polybar() async throws { try await isDrawn(by: .polybar) }

    @Test(
        .needs(.root),
        .needs(.sway, .nightly),
        .needs("waybar", package: "waybar", tier: .nightly),
        arguments: [Panel.swaybar, .waybar]
    )
    func `So do the panels of sway`(panel: Panel) async throws { try await isDrawn(by: panel) }

    private func isDrawn(by panel: Panel) async throws {
        let bus = try await PrivateBus()
        let probe = try await DesktopProbe(on: bus)
        let format = panel == .swaybar ? "i3bar" : "\(panel)"
        let watch = "exec \(try Command.built("indicator-demo")) watch --bus \(bus.address) --format \(format)"
        let watching = try await Drawn(panel, command: watch, isJSON: true)
        func shown(_ text: String) async throws -> Drawn {
            let lines = "printf '%b\\n' '\(panel.line(text))'; exec tail -n 0 -f \"$0\""
            return try await Drawn(panel, command: lines, isJSON: false)
        }
        let wanted = try await shown("probe: <b>A & B</b> #1 40%")
        let empty = try await shown("")
        func shows(_ other: Drawn) async throws -> Bool {
            try await eventually(within: .seconds(300)) {
                let (watched, shown) = (try await watching.picture(), try await other.picture())
                let (blank, text) = (try await empty.picture(), try await wanted.picture())
                return watched == shown && blank != text
            }
        }
        #expect(try await shows(empty), "\(watching.daemon.errors) \(wanted.daemon.errors)")
        try await probe.tell("begin", "<b>A & B</b> #1")
        try await probe.tell("progress", "0.4")
        #expect(try await shows(wanted), "\(watching.daemon.errors) \(wanted.daemon.errors)")
        try await probe.tell("end")
        #expect(try await shows(empty))
    }
}
#endif
