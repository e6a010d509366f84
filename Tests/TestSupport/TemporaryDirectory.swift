/// A new, empty folder that is removed with its contents when the value is deallocated.
package final class TemporaryDirectory: Sendable {
    /// Its absolute path.
    package let path: String
    private let endsProcesses: Bool

    /// Creates one.
    ///
    /// - Parameters:
    ///   - parent: the folder in which to create it; by default the system's one for temporary files.
    ///   - endsProcesses: whether to end, before the folder is removed, all processes that have its path in their
    ///     arguments or their environment, such as shells that save their history there when they end.
    package init(
        _ prefix: String = "indicator-test",
        in parent: String = FileManager.default.temporaryDirectory.path,
        endsProcesses: Bool = false
    ) throws {
        self.endsProcesses = endsProcesses
        var template = Array("\(parent)/\(prefix).XXXXXX".utf8CString)
        let isMade = mkdtemp(&template) != nil
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard isMade else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
    }

    deinit {
        // A process that is ending may still write to it.
        for _ in 0..<1000 {
            let isUnused = !endsProcesses || killProcesses() == 0
            try? FileManager.default.removeItem(atPath: path)
            if isUnused, !FileManager.default.fileExists(atPath: path) { return }
            usleep(10_000)
        }
    }

    /// Kills the processes that have the path in their arguments or their environment. Returns how many there were.
    private func killProcesses() -> Int {
        let present = ((try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []).compactMap(pid_t.init)
            .filter { process in
                process != getpid()
                    && ["cmdline", "environ"].contains { file in
                        FileManager.default.contents(atPath: "/proc/\(process)/\(file)")?
                            .firstRange(of: Data(path.utf8)) != nil
                    }
            }
        for process in present { kill(process, SIGKILL) }
        return present.count
    }

    /// Its location as a file URL.
    package var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

    /// The path of an item in it.
    package func appending(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file in it. Returns the file's path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        let path = appending(name)
        let parent = URL(filePath: path).deletingLastPathComponent()
        try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    /// The text of a file in it.
    package func read(_ name: String) throws -> String {
        try String(contentsOfFile: appending(name), encoding: .utf8)
    }

    /// The permissions of an item in it.
    package func mode(_ name: String) throws -> Int? {
        (try FileManager.default.attributesOfItem(atPath: appending(name))[.posixPermissions] as? NSNumber)?.intValue
    }

    /// The names of its items, sorted.
    package func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}
