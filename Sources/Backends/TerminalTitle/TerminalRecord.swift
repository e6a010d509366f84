// What this folder's size buys: the title in every known terminal, taken turns with other processes, and given back
// also after SIGKILL.

import CLinux
import Foundation

/// What this process leaves in a terminal if it is killed: a file for the next process that opens the terminal.
///
/// The file exists while something is shown, in `$XDG_RUNTIME_DIR/indicator/terminals`. This process holds a lock on it
/// (flock(2)), which the kernel releases when the process ends, in any way. Nothing waits for a lock. A child that was
/// forked without `exec` keeps it, too.
///
/// The variable may be unset, the disk full, or the descriptors used up: there is no record then, and no error.
struct TerminalRecord: Sendable {
    /// What is shown and would remain.
    struct Leftover: Codable, Sendable, Hashable {
        /// How the title is restored; `nil` if it is unchanged.
        var title: KnownTerminal.TitleStyle?
        /// The title to restore, where the terminal does not save it.
        var originalTitle: String?
        var hasProgress = false
        var hasLines = false
    }

    private struct Contents: Codable {
        /// Distinguishes the terminal from a later one of the same number.
        var terminal: String
        var leftover: Leftover
    }

    /// The largest file that is read, in bytes.
    private static let sizeLimit = 4096

    private let folder: String?
    private var descriptor: CInt = -1
    private var leftover = Leftover()

    init(environment: [String: String]) {
        folder = Self.folder(in: environment)
    }

    /// Records what would remain now, if it has changed.
    mutating func update(to leftover: Leftover, on device: TerminalDevice) {
        guard let folder, leftover != self.leftover else { return }
        self.leftover = leftover
        let path = "\(folder)/\(device.number)-\(getpid())"
        guard leftover != Leftover(), let terminal = device.incarnation,
            let contents = try? JSONEncoder().encode(Contents(terminal: terminal, leftover: leftover)),
            contents.count <= Self.sizeLimit
        else { return remove(path) }
        if descriptor < 0 {
            for folder in [(folder as NSString).deletingLastPathComponent, folder] { mkdir(folder, 0o700) }
            descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return }
            // A standard stream that was closed: what the app writes to it must not get into the file.
            guard descriptor > STDERR_FILENO, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return remove(path) }
        }
        let count = contents.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
        if count != contents.count || ftruncate(descriptor, off_t(count)) != 0 { remove(path) }
    }

    /// Leaves the file, if there is still one, to the next process.
    mutating func close() {
        if descriptor >= 0 { Foundation.close(descriptor) }
        descriptor = -1
    }

    private mutating func remove(_ path: String) {
        if descriptor >= 0 { unlink(path) }
        close()
    }

    /// What processes that were killed have left in a terminal. Removes their records.
    ///
    /// Nothing in the background or while a full-screen program may use the terminal, and nothing while another process
    /// shows something there: its title is above that of the killed one on the terminal's stack.
    static func takeLeftovers(on device: TerminalDevice, environment: [String: String]) -> [Leftover] {
        guard let folder = folder(in: environment), device.isInForeground, device.modes?.isLineMode == true,
            let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
        else { return [] }
        let paths = names.filter { $0.hasPrefix("\(device.number)-") }.map { "\(folder)/\($0)" }
        var files = paths.compactMap { path in openRecord(path).map { (path: path, descriptor: $0) } }
        defer { for file in files { Foundation.close(file.descriptor) } }
        guard files.allSatisfy({ flock($0.descriptor, LOCK_EX | LOCK_NB) == 0 }) else { return [] }
        // One that another process has taken meanwhile has no link.
        files.removeAll { file in
            var status = stat()
            guard fstat(file.descriptor, &status) != 0 || status.st_nlink == 0 else { return false }
            Foundation.close(file.descriptor)
            return true
        }
        return files.compactMap { file in
            unlink(file.path)
            var bytes = [UInt8](repeating: 0, count: sizeLimit)
            let count = max(read(file.descriptor, &bytes, bytes.count), 0)
            let contents = try? JSONDecoder().decode(Contents.self, from: Data(bytes[..<count]))
            return contents?.terminal == device.incarnation ? contents?.leftover : nil
        }
    }

    /// Opens a record of this user; `nil` if the file is something else.
    private static func openRecord(_ path: String) -> CInt? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_size <= sizeLimit
        else {
            Foundation.close(descriptor)
            return nil
        }
        return descriptor
    }

    /// The folder of the records, if nobody else can write to the one that it is in.
    private static func folder(in environment: [String: String]) -> String? {
        guard linux_is_privileged() == 0, let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/")
        else { return nil }
        var status = stat()
        guard lstat(runtime, &status) == 0, status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(),
            status.st_mode & 0o022 == 0
        else { return nil }
        return runtime + "/indicator/terminals"
    }
}

extension TerminalRecord.Leftover {
    /// The control sequences that restore the terminal.
    var restoration: String {
        var sequences = LiveLines.endsSequence
        if hasProgress { sequences += TitleLedger.setProgress(nil) }
        if let title {
            sequences += title.end(
                original: DisplayText.singleLine(originalTitle ?? "", limit: TerminalTitleBackend.titleLimit)
            )
        }
        return hasLines ? sequences + LiveLines.repair : sequences
    }
}
