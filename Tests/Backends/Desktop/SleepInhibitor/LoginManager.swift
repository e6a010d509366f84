import TestSupport

/// The real systemd-logind or elogind on a private system bus, with a `/run` of its own. Needs root.
final class LoginManager: Sendable {
    enum Program: CaseIterable {
        case systemd, elogind

        /// Those that are there. elogind is unpacked by `Scripts/test --install`, where the distribution has it.
        static var available: [Self] {
            allCases.filter { $0 == .systemd || FileManager.default.isExecutableFile(atPath: $0.path) }
        }

        fileprivate var path: String {
            switch self {
            case .systemd: "/lib/systemd/systemd-logind"
            case .elogind:
                URL(filePath: #filePath).appending(path: "../../../../../.build/elogind/run").standardizedFileURL.path
            }
        }
    }

    let bus: PrivateBus
    private let daemon: Daemon

    init(_ program: Program = .systemd, on bus: PrivateBus) async throws {
        self.bus = bus
        let folders = ["seats", "inhibit", "sessions", "users"].map { "/run/systemd/\($0)" }.joined(separator: " ")
        daemon = try Daemon(
            "unshare",
            [
                "--mount", "sh", "-c",
                """
                set -e
                mount --make-rprivate /
                mount -t tmpfs none /run
                mkdir -p \(folders)
                # elogind makes a folder for its control groups.
                [ \(program) = systemd ] || mount -t tmpfs none /sys/fs/cgroup
                exec \(program.path)
                """,
            ],
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
            package: "systemd"
        )
        guard try await eventually({ try await inhibitors() != nil }) else {
            throw FixtureError("the login manager did not start: \(daemon.errors)")
        }
    }

    /// What it lists: what, who and why of each lock; `nil` if it does not answer.
    func inhibitors() async throws -> [[String]]? {
        let (name, path) = ("org.freedesktop.login1", "/org/freedesktop/login1")
        let interface = "org.freedesktop.login1.Manager"
        let result = try await bus.busctl("--json=short", "call", name, path, interface, "ListInhibitors")
        guard
            let reply = try? JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any],
            let lists = reply["data"] as? [[[Any]]]
        else { return nil }
        return lists.first?.map { $0.prefix(4).compactMap { $0 as? String } }
    }

    func pause() { daemon.send(SIGSTOP) }
    func resume() { daemon.send(SIGCONT) }
}
