import Foundation

/// A message bus of the run's own.
final class PrivateBus {
    let address: String

    private let folder: WorkFolder
    private let daemon: Child

    /// Starts one. Throws when there is no `dbus-daemon`.
    init() throws {
        guard let program = Child.find("dbus-daemon") else {
            throw Child.Failure(description: "there is no dbus-daemon; install Debian's dbus")
        }
        folder = try WorkFolder()
        address = "unix:path=\(folder.path)/bus"
        let arguments = ["--session", "--address=\(address)", "--nofork", "--nopidfile", "--print-address=1"]
        // The shell ends it when the input ends. Its complaints of limits that it may not raise are of no use to
        // anybody.
        let script = "\"$0\" \"$@\" & read -r line; kill $!"
        daemon = try Child(URL(fileURLWithPath: "/bin/sh"), ["-c", script, program.path] + arguments, isQuiet: true)
        // It prints the address when it listens.
        _ = try daemon.expect("unix:")
    }
}
