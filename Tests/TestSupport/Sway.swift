import Foundation

/// A sway without a screen. It refuses to run as root.
package final class Sway: Sendable {
    private let folder: TemporaryDirectory
    private let daemon: Daemon

    /// Starts it, with further lines of its configuration.
    package init(configuration: String = "") async throws {
        let folder = try TemporaryDirectory("indicator-sway")
        let configuration = try folder.write(
            "output HEADLESS-1 resolution 640x480\n\(configuration)\n",
            to: "run/config"
        )
        // 65534: nobody.
        for path in [folder.path, "\(folder.path)/run"] {
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o755, .ownerAccountID: 65534],
                ofItemAtPath: path
            )
        }
        // That user must reach the folder, whose parents may be private.
        var parent = URL(filePath: folder.path).deletingLastPathComponent()
        while parent.path != "/", parent.path != "/tmp" {
            var status = stat()
            if stat(parent.path, &status) == 0 { chmod(parent.path, status.st_mode | S_IXOTH) }
            parent.deleteLastPathComponent()
        }
        let daemon = try Daemon(
            "setpriv",
            ["--reuid=65534", "--regid=65534", "--clear-groups", "sway", "-c", configuration],
            environment: [
                "XDG_RUNTIME_DIR": "\(folder.path)/run", "HOME": "\(folder.path)/run", "WLR_BACKENDS": "headless",
                "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1", "DISPLAY": "", "WAYLAND_DISPLAY": "",
            ]
        )
        let isReady = await eventually { FileManager.default.fileExists(atPath: "\(folder.path)/run/wayland-1") }
        guard isReady else { throw NotStarted(error: daemon.errors) }
        self.folder = folder
        self.daemon = daemon
    }

    /// Starts a program in it.
    package func start(
        _ program: String,
        _ arguments: [String],
        environment: [String: String] = [:]
    ) throws -> Daemon {
        try Daemon(program, arguments, environment: variables().merging(environment) { $1 })
    }

    private func variables() throws -> [String: String] {
        [
            "XDG_RUNTIME_DIR": "\(folder.path)/run", "HOME": folder.path, "XDG_CONFIG_HOME": "\(folder.path)/config",
            "WAYLAND_DISPLAY": "wayland-1", "DISPLAY": "", "SWAYSOCK": try socket(),
        ]
    }

    /// A digest of the colours of all points.
    package func picture() async throws -> String {
        let words = try variables().map { "\($0)=\($1)" } + ["sh", "-c", "grim -t ppm - | sha256sum"]
        return try await Command.run("env", words).output
    }

    /// Where it answers swaymsg(1).
    private func socket() throws -> String {
        let files = try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/run")
        return "\(folder.path)/run/\(files.first { $0.hasPrefix("sway-ipc.") } ?? "no-socket")"
    }

    /// The process of the window that has the focus.
    package func focusedProcess() async throws -> Int32? {
        struct Node: Decodable {
            var focused: Bool
            var pid: Int32?
            var nodes: [Node]
        }
        func find(_ node: Node) -> Int32? {
            node.focused ? node.pid : node.nodes.lazy.compactMap(find).first
        }
        let tree = try await Command.run("swaymsg", ["-s", socket(), "-t", "get_tree"]).output
        return find(try JSONDecoder().decode(Node.self, from: Data(tree.utf8)))
    }

    private struct NotStarted: Error, CustomStringConvertible {
        var error: String
        var description: String { "sway did not start: \(error)" }
    }
}
