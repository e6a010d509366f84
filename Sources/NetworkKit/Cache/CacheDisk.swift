import Foundation
import IndicatorCore
import IndicatorThreads

/// The part of the cache that outlives the process: a file an entry, in a folder of its own. All functions block.
///
/// Files are written beside and renamed into place, so a reader, or a process that was killed, never leaves half of
/// one. A file that cannot be read, or is not whole, is removed. The times of modification are the times of last use,
/// for the next process. Only the user can read the files. A folder that others own or can write is not used.
final class CacheDisk: Sendable {
    /// How many files that killed processes left half written were removed.
    let removedLeftovers: Int
    /// What hashes secrets; its key is a file of the folder.
    let hash: KeyedHash
    private let directory: URL
    private let index: Locked<LeastRecentlyUsed<String, Void>>

    /// Opens the folder, or makes it.
    init(directory: URL, capacity: Int) throws {
        self.directory = directory
        try? FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try Self.check(directory)
        hash = try Self.loadHash(in: directory)
        removedLeftovers = PartialFile.removeLeftovers(in: directory)
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

    private static func check(_ directory: URL) throws {
        var status = stat()
        guard lstat(directory.path, &status) == 0 else {
            throw NetworkError.unwritable(directory, reason: String(cString: strerror(errno)))
        }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw NetworkError.unwritable(
                directory,
                reason:
                    "a cache's folder must be a folder that nobody else owns or can write; it may be made by the cache"
            )
        }
    }

    private static func loadHash(in directory: URL) throws -> KeyedHash {
        let file = directory.appending(path: "key")
        if let data = FileManager.default.contents(atPath: file.path), let hash = KeyedHash(key: data) { return hash }
        let hash = KeyedHash()
        let partial = try PartialFile(for: file, mode: 0o600)
        try partial.write(hash.keyData)
        try partial.moveIntoPlace()
        return hash
    }

    /// How many bytes the files have.
    var size: Int { index.withLock { $0.cost } }

    func read(_ key: String) -> CachedResponse? {
        let name = CacheFile.name(of: key, hash: hash)
        let path = file(name).path
        guard let data = FileManager.default.contents(atPath: path) else {
            index.withLock { _ = $0.remove(name) }
            return nil
        }
        guard let response = CacheFile.decode(data, hash: hash) else {
            remove(key)
            return nil
        }
        utimensat(AT_FDCWD, path, nil, 0)
        index.withLock { index in
            // A file that another process has written is taken into account, too.
            if index.use(name) == nil { _ = index.insert((), for: name, cost: data.count) }
        }
        return response
    }

    /// Notes that an entry was used that is in memory, too.
    func touch(_ key: String) {
        let name = CacheFile.name(of: key, hash: hash)
        if index.withLock({ $0.use(name) }) != nil { utimensat(AT_FDCWD, file(name).path, nil, 0) }
    }

    func write(_ response: CachedResponse, for key: String) {
        let name = CacheFile.name(of: key, hash: hash)
        guard let data = try? CacheFile.encode(response, hash: hash), data.count <= index.withLock({ $0.capacity })
        else {
            return remove(key)
        }
        do {
            let file = try PartialFile(for: file(name), mode: 0o600)
            try file.write(data)
            try file.moveIntoPlace()
        } catch {
            // A cache that cannot be written is one that has nothing: the requests go on without it.
            return remove(key)
        }
        removeFiles(index.withLock { $0.insert((), for: name, cost: data.count) })
    }

    func remove(_ key: String) {
        let name = CacheFile.name(of: key, hash: hash)
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
