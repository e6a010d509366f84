/// An X server without a screen, for real desktops, docks and notification servers.
package final class Screen: Sendable {
    /// Its name, such as `:5`.
    package let display: String
    private let daemon: Daemon

    package init(size: String = "640x480") async throws {
        let options = ["-displayfd", "1", "-noreset", "-screen", "0", "\(size)x24", "-nolisten", "tcp"]
        let daemon = try Daemon("Xvfb", options, package: "xvfb")
        guard await daemon.prints("\n") else { throw FixtureError("Xvfb did not start: \(daemon.errors)") }
        self.daemon = daemon
        display = ":" + daemon.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    deinit {
        // Before it ends: afterwards the files may belong to another one with the same number.
        for path in ["/tmp/.X\(display.dropFirst())-lock", "/tmp/.X11-unix/X\(display.dropFirst())"] {
            try? FileManager.default.removeItem(atPath: path)
        }
        daemon.send(SIGKILL)
    }

    /// Runs a program on it, and returns what it prints.
    package func run(_ program: String, _ arguments: [String], package: String) async throws -> String {
        try await Command.run("env", ["DISPLAY=\(display)", program] + arguments, package: package).output
    }

    /// Clicks on a point.
    package func click(x: Int, y: Int) async throws {
        _ = try await run("xdotool", ["mousemove", "\(x)", "\(y)", "click", "1"], package: "xdotool")
    }

    /// A digest of the colours of all points.
    package func picture() async throws -> String {
        try await run("import", ["-window", "root", "-format", "%#", "info:-"], package: "imagemagick")
    }

    /// The size and the place of each window that is shown, as `(width, height, x, y)`.
    package func windows() async throws -> [(width: Int, height: Int, x: Int, y: Int)] {
        try await run("xwininfo", ["-root", "-tree"], package: "x11-utils")
            .matches(of: /(\d+)x(\d+)\+-?\d+\+-?\d+ +\+(-?\d+)\+(-?\d+)/)
            .compactMap { line in
                guard let width = Int(line.1), let height = Int(line.2), let x = Int(line.3), let y = Int(line.4)
                else { return nil }
                return (width, height, x, y)
            }
    }
}
