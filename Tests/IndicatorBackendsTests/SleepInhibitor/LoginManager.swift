import Foundation
import TestSupport

/// The real systemd-logind on a private system bus, with a `/run` of its own. Needs root.
final class LoginManager: Sendable {
    let bus: PrivateBus
    private let daemon: Daemon

    private static let program = "/lib/systemd/systemd-logind"

    /// Whether it can run here.
    static var isPossible: Bool { getuid() == 0 }

    init(on bus: PrivateBus) async throws {
        self.bus = bus
        let folders = ["seats", "inhibit", "sessions", "users"].map { "/run/systemd/\($0)" }.joined(separator: " ")
        daemon = try Daemon(
            "unshare",
            [
                "--mount", "sh", "-c",
                "mount --make-rprivate / && mount -t tmpfs none /run && mkdir -p \(folders) && exec \(Self.program)",
            ],
            environment: ["DBUS_SYSTEM_BUS_ADDRESS": bus.address],
            package: "systemd"
        )
        guard try await eventually({ try await inhibitors() != nil }) else { throw NotStarted(error: daemon.errors) }
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

    /// Ends it with SIGKILL.
    func kill() async { await daemon.end() }

    private struct NotStarted: Error, CustomStringConvertible {
        var error: String
        var description: String { "systemd-logind did not start: \(error)" }
    }
}
