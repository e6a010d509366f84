import CLinux
import Foundation

/// The arguments of a command, terminated by a null pointer.
typealias Arguments = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>

/// Starts a command, with posix_spawn(3), as a shell does.
final class CommandSpawn {
    private let attributes = UnsafeMutablePointer<posix_spawnattr_t>.allocate(capacity: 1)

    /// - Parameter mask: the blocked signals of the command.
    init(mask: sigset_t) {
        posix_spawnattr_init(attributes)
        var mask = mask
        posix_spawnattr_setsigmask(attributes, &mask)
        posix_spawnattr_setflags(attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    }

    deinit {
        posix_spawnattr_destroy(attributes)
        attributes.deallocate()
    }

    /// Starts the command, and returns its process ID.
    func callAsFunction(_ arguments: Arguments) throws(ChildCommand.StartError) -> pid_t {
        var identifier: pid_t = 0
        guard let name = arguments[0] else { throw ChildCommand.StartError(arguments, ENOENT) }
        var result = posix_spawnp(&identifier, name, nil, attributes, arguments, linux_environment())
        if result == ENOEXEC, let script = Self.path(of: name) {
            // A script without `#!`: shells and execvp(3) run it with sh.
            var count = 0
            while arguments[count] != nil { count += 1 }
            let shell = Arguments.allocate(capacity: count + 2)
            let shellPath = strdup("/bin/sh")
            defer {
                shell.deallocate()
                free(shellPath)
                free(script)
            }
            (shell + 2).update(from: arguments + 1, count: count)
            (shell[0], shell[1]) = (shellPath, script)
            result = posix_spawn(&identifier, "/bin/sh", nil, attributes, shell, linux_environment())
        }
        guard result == 0 else { throw ChildCommand.StartError(arguments, result) }
        return identifier
    }

    /// The path of a command: its name if that is a path, otherwise the first executable file on the `PATH`.
    private static func path(of name: UnsafeMutablePointer<CChar>) -> UnsafeMutablePointer<CChar>? {
        if strchr(name, CInt(UInt8(ascii: "/"))) != nil { return strdup(name) }
        let folders = getenv("PATH").map { String(cString: $0) } ?? "/bin:/usr/bin"
        for folder in folders.split(separator: ":", omittingEmptySubsequences: false) {
            let path = "\(folder.isEmpty ? "." : folder)/\(String(cString: name))"
            if access(path, X_OK) == 0 { return strdup(path) }
        }
        return nil
    }
}
