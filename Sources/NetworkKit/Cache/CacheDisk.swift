import Foundation
import IndicatorCore
import IndicatorThreads

/// The cache on disk: one file per entry, in a dedicated folder. Except for ``use(_:)``, all functions block.
///
/// Files are written under a temporary name and then renamed, so no reader sees a partial file, even after a process
/// was killed. Unreadable and incomplete files are removed. A file's modification time is when the entry was last
/// written, or read from the disk. Only the user can read the files. A folder that another user owns or can write to is
/// rejected.
final class CacheDisk: Sendable {
    /// Hashes secrets. The key is stored in the folder.
    let hash: KeyedHash
    private let directory: URL
    private let index: Locked<LeastRecentlyUsed<String, Void>>

    /// Opens the folder; creates it if it does not exist.
    init(directory: URL, capacity: Int) throws {
        self.directory = directory
        try? FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try Self.check(directory)
        hash = try Self.loadHash(in: directory)
        PartialFile.removeLeftovers(in: directory)
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
        var evicted: [String] = []
        for entry in entries.sorted(by: { $0.date < $1.date }) {
            evicted += index.insert((), for: entry.name, cost: entry.size)
        }
        self.index = Locked(index)
        removeFiles(evicted)
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
                    "only this user may own the cache's folder and write to it; the cache creates a missing folder"
            )
        }
    }

    private static func loadHash(in directory: URL) throws -> KeyedHash {
        let file = directory.appending(path: "key")
        if let data = FileManager.default.contents(atPath: file.path), let hash = KeyedHash(key: data) { return hash }
        // If processes create it at the same time, the last one counts in their next runs.
        let hash = KeyedHash()
        try Self.write(hash.key, to: file)
        return hash
    }

    /// The size of all files in bytes.
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
            // Another process may have written the file.
            if index.use(name) == nil { _ = index.insert((), for: name, cost: data.count) }
        }
        return response
    }

    /// Records a use of an entry that was served from memory. Does not access the disk, which may hang.
    func use(_ key: String) {
        let name = CacheFile.name(of: key, hash: hash)
        index.withLock { _ = $0.use(name) }
    }

    func write(_ response: CachedResponse, for key: String) {
        let name = CacheFile.name(of: key, hash: hash)
        guard let data = try? CacheFile.encode(response, hash: hash), data.count <= index.withLock({ $0.capacity })
        else {
            return remove(key)
        }
        // A write error is not an error of the request: the entry is only dropped.
        guard (try? Self.write(data, to: file(name))) != nil else { return remove(key) }
        removeFiles(index.withLock { $0.insert((), for: name, cost: data.count) })
    }

    private static func write(_ data: Data, to file: URL) throws {
        let partial = try PartialFile(for: file)
        try partial.write(data)
        try partial.moveIntoPlace()
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

/// The file format of a cache entry: a checksum, the metadata as JSON on one line, the body.
enum CacheFile {
    static func encode(_ response: CachedResponse, hash: KeyedHash) throws -> Data {
        let content = try JSONEncoder().encode(response.metadata) + [0x0A] + response.body
        return checksum(of: content, hash) + content
    }

    /// Reads an entry; `nil` when the file is damaged.
    static func decode(_ data: Data, hash: KeyedHash) -> CachedResponse? {
        let content = Data(data.dropFirst(8))
        guard data.prefix(8) == checksum(of: content, hash), let end = content.firstIndex(of: 0x0A),
            let metadata = try? JSONDecoder().decode(CachedResponse.Metadata.self, from: content[..<end]),
            (100...599).contains(metadata.status)
        else { return nil }
        return CachedResponse(metadata: metadata, body: Data(content[(end + 1)...]))
    }

    private static func checksum(of content: Data, _ hash: KeyedHash) -> Data {
        withUnsafeBytes(of: hash(content).littleEndian) { Data($0) }
    }

    /// The file name for a URL. It does not reveal the URL.
    static func name(of key: String, hash: KeyedHash) -> String { hash.digest(key) + ".cache" }
}
