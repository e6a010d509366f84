import Foundation

/// A private message bus.
final class PrivateBus {
    let address: String

    private let folder: WorkFolder
    private let daemon: Child

    /// Starts the bus. Throws if `dbus-daemon` is not installed.
    init() throws {
        guard let program = Child.find("dbus-daemon") else {
            throw Child.Failure(description: "dbus-daemon is not installed; run: apt-get install dbus")
        }
        folder = try WorkFolder()
        address = "unix:path=\(folder.path)/bus"
        let arguments = ["--session", "--address=\(address)", "--nofork", "--nopidfile", "--print-address=1"]
        // The shell ends the daemon when the input ends. The daemon's warnings about limits that it cannot raise are
        // discarded.
        let script = "\"$0\" \"$@\" & read -r line; kill $!"
        daemon = try Child(URL(fileURLWithPath: "/bin/sh"), ["-c", script, program.path] + arguments, isQuiet: true)
        // The daemon prints the address when it is listening.
        _ = try daemon.expect("unix:")
    }
}
