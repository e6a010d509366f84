import Foundation
import IndicatorCore

/// The part of the cache that outlives the process: a file an entry, in a folder of its own. All functions block.
///
/// Files are written beside and renamed into place, so a reader, or a process that was killed, never leaves half of one. A file that
/// cannot be read, or is not whole, is removed. The times of modification are the times of last use, for the next process.
final class CacheDisk: Sendable {
    private let directory: URL
    private let index: Locked<LeastRecentlyUsed<String, Void>>

    init(directory: URL, capacity: Int) {
        self.directory = directory
        var index = LeastRecentlyUsed<String, Void>(capacity: capacity)
        let keys: [URLResourceKey] = [.contentModificationDateKey, .fileSizeKey]
        let files =
            (try? FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: keys)) ?? []
        let entries = files.compactMap { file -> (name: String, date: Date, size: Int)? in
            guard file.pathExtension == "cache", let values = try? file.resourceValues(forKeys: Set(keys)),
                let date = values.contentModificationDate, let size = values.fileSize
            else { return nil }
            return (file.lastPathComponent, date, size)
        }
        var gone: [String] = []
        for entry in entries.sorted(by: { $0.date < $1.date }) {
            gone += index.insert((), for: entry.name, cost: entry.size)
        }
        self.index = Locked(index)
        removeFiles(gone)
    }

    /// How many bytes the files have.
    var size: Int { index.withLock { $0.cost } }

    func read(_ key: String) -> CachedResponse? {
        let name = CacheFile.name(of: key)
        let path = file(name).path
        guard let data = FileManager.default.contents(atPath: path) else {
            index.withLock { _ = $0.remove(name) }
            return nil
        }
        guard let response = CacheFile.decode(data) else {
            remove(key)
            return nil
        }
        guard response.metadata.url.absoluteString == key else { return nil }
        utimensat(AT_FDCWD, path, nil, 0)
        index.withLock { index in
            // A file that another process has written is taken into account, too.
            if index.use(name) == nil { _ = index.insert((), for: name, cost: data.count) }
        }
        return response
    }

    /// Notes that an entry was used that is in memory, too.
    func touch(_ key: String) {
        let name = CacheFile.name(of: key)
        if index.withLock({ $0.use(name) }) != nil { utimensat(AT_FDCWD, file(name).path, nil, 0) }
    }

    func write(_ response: CachedResponse, for key: String) {
        let name = CacheFile.name(of: key)
        guard let data = try? CacheFile.encode(response), data.count <= index.withLock({ $0.capacity }) else {
            return remove(key)
        }
        // A cache that cannot be written is one that has nothing: the requests go on without it.
        try? FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let temporary = directory.appending(path: "\(name).\(UUID().uuidString).new")
        guard (try? data.write(to: temporary)) != nil, rename(temporary.path, file(name).path) == 0 else {
            unlink(temporary.path)
            return remove(key)
        }
        removeFiles(index.withLock { $0.insert((), for: name, cost: data.count) })
    }

    func remove(_ key: String) {
        let name = CacheFile.name(of: key)
        index.withLock { _ = $0.remove(name) }
        removeFiles([name])
    }

    func removeAll() {
        removeFiles(
            index.withLock { index in
                defer { index.removeAll() }
                return index.keys
            }
        )
    }

    private func removeFiles(_ names: [String]) {
        for name in names { unlink(file(name).path) }
    }

    private func file(_ name: String) -> URL { directory.appending(path: name) }
}
