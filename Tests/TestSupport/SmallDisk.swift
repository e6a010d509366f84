/// A small file system that fills up.
package enum SmallDisk {
    /// Runs a program with a tmpfs over a folder, in a separate mount namespace, so that nothing of it remains. Without
    /// root, a user namespace gives the right to mount.
    package static func run(_ command: [String], size: String, over folder: String) async throws -> Command.Result {
        // In a chroot, unshare cannot make the mounts private; if they are private already, it need not.
        let mount = try await Command.run(
            "findmnt",
            ["--noheadings", "--output", "PROPAGATION", "--target", folder],
            package: "util-linux"
        )
        let isPrivate = mount.output.hasPrefix("private")
        return try await Command.run(
            "unshare",
            (geteuid() == 0 ? ["-m"] : ["-Urm"]) + (isPrivate ? ["--propagation", "unchanged"] : [])
                + ["sh", "-c", "mount -t tmpfs -o size=\(size) tmpfs \"$0\" && exec \"$@\"", folder] + command,
            package: "util-linux"
        )
    }

    /// Whether this user may mount here.
    static func mayMount() async throws -> Bool {
        let folder = try TemporaryDirectory()
        return try await run(["true"], size: "64k", over: folder.path).status == 0
    }
}
