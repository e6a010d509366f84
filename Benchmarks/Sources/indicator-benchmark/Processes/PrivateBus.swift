import Foundation

/// A message bus of the run's own.
final class PrivateBus {
    let address: String

    private let daemon: Child

    /// Starts one. Throws when there is no `dbus-daemon`.
    init(in folder: WorkFolder) throws {
        guard let program = Child.find("dbus-daemon") else {
            throw Child.Failure(description: "there is no dbus-daemon; install Debian's dbus")
        }
        address = "unix:path=\(folder.path)/bus"
        daemon = try Child(program, ["--session", "--address=\(address)", "--nofork", "--nopidfile", "--print-address=1"])
        // It prints the address when it listens.
        _ = try daemon.expect("unix:")
    }
}
