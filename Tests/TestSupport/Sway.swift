/// A sway without a screen. It refuses to run as root.
package final class Sway: Sendable {
    private let folder: TemporaryDirectory
    private let daemon: Daemon
    /// Where it answers swaymsg(1).
    private let socket: String

    /// Starts it, with further lines of its configuration.
    package init(configuration: String = "") async throws {
        let folder = try TemporaryDirectory("indicator-sway")
        let configuration = try folder.write(
            "output HEADLESS-1 resolution 640x480\n\(configuration)\n",
            to: "run/config"
        )
        // 65534: nobody.
        for path in [folder.path, "\(folder.path)/run"] {
            guard chown(path, 65534, gid_t.max) == 0, chmod(path, 0o755) == 0 else { throw FixtureError(path) }
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
        // It opens one for swaymsg(1) after the one for its windows.
        let find = { (prefix: String) in
            try FileManager.default.contentsOfDirectory(atPath: "\(folder.path)/run").first { $0.hasPrefix(prefix) }
        }
        guard try await eventually({ try find("wayland-1") != nil && find("sway-ipc.") != nil }),
            let socket = try find("sway-ipc.")
        else { throw FixtureError("sway did not start: \(daemon.errors)") }
        self.folder = folder
        self.daemon = daemon
        self.socket = "\(folder.path)/run/\(socket)"
    }

    /// Starts a program in it.
    package func start(_ program: String, _ arguments: [String], environment: [String: String] = [:]) throws -> Daemon {
        try Daemon(program, arguments, environment: variables.merging(environment) { $1 })
    }

    private var variables: [String: String] {
        [
            "XDG_RUNTIME_DIR": "\(folder.path)/run", "HOME": folder.path, "XDG_CONFIG_HOME": "\(folder.path)/config",
            "WAYLAND_DISPLAY": "wayland-1", "DISPLAY": "", "SWAYSOCK": socket,
        ]
    }

    /// A digest of the colours of all points.
    package func picture() async throws -> String {
        let words = variables.map { "\($0)=\($1)" } + ["sh", "-c", "grim -t ppm - | sha256sum"]
        return try await Command.run("env", words).output
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
        let tree = try await Command.run("swaymsg", ["-s", socket, "-t", "get_tree"]).output
        return find(try JSONDecoder().decode(Node.self, from: Data(tree.utf8)))
    }
}
