import CIndicatorLinux
import Foundation
import IndicatorBackends

/// A process that `indicator` has not started, until it ends.
struct RunningProcess {
    private let id: Int32
    /// Refers to this process even when another one has got its number (pidfd_open(2)).
    private let descriptor: Int32

    init(_ id: Int32) throws(Unavailability) {
        descriptor = linux_open_process(id)
        guard descriptor >= 0 else {
            let reason = errno == ESRCH ? "there is no such process" : String(cString: strerror(errno))
            throw Unavailability(reason: "cannot wait for process \(id): \(reason)")
        }
        self.id = id
    }

    /// Its command and arguments; `nil` if it has none, has replaced them by a text, as daemons do, or if they are
    /// secret (hidepid of proc(5)).
    var command: [String]? {
        let arguments = Self.text("/proc/\(id)/cmdline").split(separator: "\0").map(String.init)
        return arguments.isEmpty || arguments.count == 1 && arguments[0].contains(" ") ? nil : arguments
    }

    /// Its name; `nil` if that is secret.
    var name: String? {
        let name = Self.text("/proc/\(id)/comm").prefix { !$0.isNewline }
        return name.isEmpty ? nil : String(name)
    }

    /// How long it has run; `nil` if that is secret.
    var lasted: Duration? {
        // The start is the 20th of these fields, in ticks since the boot.
        guard let fields = ChildCommand.fields(of: "\(id)"), fields.count > 19, let ticks = Double(fields[19]),
            let uptime = Double(Self.text("/proc/uptime").prefix { $0 != " " })
        else { return nil }
        return .seconds(max(uptime - ticks / Double(sysconf(Int32(_SC_CLK_TCK))), 0))
    }

    /// Waits until it has ended, or for a time. Returns whether it has ended.
    func wait(milliseconds: Int32) -> Bool {
        var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&event, 1, milliseconds) > 0
    }

    /// A file that a process has open, either to read or to write it.
    private typealias OpenFile = (isRead: Bool, position: Int, size: Int)

    /// The position in the largest file that the process or one of its children reads, and the size of that file, as
    /// progress(1) shows them; `nil` if there is none, or the user may not see it.
    ///
    /// A copy within one file system, such as that of cp(1), moves no position before its end (copy_file_range(2)):
    /// then it is the size of the largest smaller file that they write.
    var position: (bytes: Int, size: Int)? {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(id)/task")) ?? []
        let children = threads.flatMap { thread in
            Self.text("/proc/\(id)/task/\(thread)/children").split(separator: " ").compactMap { Int32($0) }
        }
        let files = ([id] + children).flatMap(Self.files)
        let read = files.filter { $0.isRead }
        if let file = read.filter({ (1...$0.size).contains($0.position) }).max(by: { $0.size < $1.size }) {
            return (file.position, file.size)
        }
        guard let size = read.map({ $0.size }).max(),
            let copied = files.filter({ !$0.isRead && $0.size < size }).map({ $0.size }).max()
        else { return nil }
        return (copied, size)
    }

    private static func files(of id: Int32) -> [OpenFile] {
        let folder = "/proc/\(id)/fd"
        return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap { name in
            var info = stat()
            guard stat("\(folder)/\(name)", &info) == 0 else { return nil }
            let type = info.st_mode & S_IFMT
            let size = type == S_IFREG ? info.st_size : type == S_IFBLK ? deviceSize("\(folder)/\(name)") : 0
            // The first lines are `pos:` and `flags:`.
            let words = text("/proc/\(id)/fdinfo/\(name)").split(whereSeparator: \.isWhitespace)
            guard size > 0, words.count > 3, let position = Int(words[1]), let flags = Int32(words[3], radix: 8),
                flags & O_ACCMODE != O_RDWR
            else { return nil }
            return (flags & O_ACCMODE == O_RDONLY, position, size)
        }
    }

    private static func deviceSize(_ path: String) -> Int {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        return lseek(descriptor, 0, SEEK_END)
    }

    /// A file of proc(5), whose size is 0. It may not be UTF-8.
    private static func text(_ path: String) -> String {
        String(decoding: (try? Data(contentsOf: URL(filePath: path))) ?? Data(), as: UTF8.self)
    }
}
