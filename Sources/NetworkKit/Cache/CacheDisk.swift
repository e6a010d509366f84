import Foundation
import IndicatorCore
import IndicatorThreads

/// The cache on disk: one file per entry, in a dedicated folder. Except for ``touch(_:)``, all
/// functions block.
///
/// Files are written under a temporary name and then renamed, so no reader sees a partial file, even after a process
/// was killed. Unreadable and incomplete files are removed. A file's modification time is the entry's time of last use.
/// Only the user can read the files. A folder that another user owns or can write to is rejected.
final class CacheDisk: Sendable {
    /// The number of partial files of killed processes that were removed.
    let removedLeftovers: Int
    /// Hashes secrets. The key is stored in the folder.
    let hash: KeyedHash
    private let directory: URL
    private let index: Locked<LeastRecentlyUsed<String, Void>>
    private let touched = Locked(Touched())

    /// The files that were used, and whose times are not set.
    private struct Touched {
        var names: Set<String> = []
        /// Whether a thread sets times.
        var isBusy = false
    }

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
        let hash = KeyedHash()
        let partial = try PartialFile(for: file)
        try partial.write(hash.keyData)
        // Another process may create a key at the same time. A damaged one is replaced.
        if partial.linkIntoPlace() { return hash }
        if let data = FileManager.default.contents(atPath: file.path), let hash = KeyedHash(key: data) { return hash }
        try partial.moveIntoPlace()
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

    /// Records a use of an entry that was served from memory. Does not block: the time of the file is set later, on
    /// another thread, of which there is at most one.
    func touch(_ key: String) {
        let name = CacheFile.name(of: key, hash: hash)
        guard index.withLock({ $0.use(name) }) != nil else { return }
        let mustStart = touched.withLock { touched in
            defer { touched.names.insert(name) }
            return !touched.isBusy && touched.names.isEmpty
        }
        if mustStart { RequestThreads.run { self.setTimes() } }
    }

    private func setTimes() {
        while true {
            let names = touched.withLock { touched in
                defer { touched = Touched(isBusy: !touched.names.isEmpty) }
                return touched.names
            }
            if names.isEmpty { return }
            for name in names { utimensat(AT_FDCWD, file(name).path, nil, 0) }
        }
    }

    func write(_ response: CachedResponse, for key: String) {
        let name = CacheFile.name(of: key, hash: hash)
        guard let data = try? CacheFile.encode(response, hash: hash), data.count <= index.withLock({ $0.capacity })
        else {
            return remove(key)
        }
        do {
            let file = try PartialFile(for: file(name))
            try file.write(data)
            try file.moveIntoPlace()
        } catch {
            // A write error is not an error of the request: the entry is only dropped.
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

/// The file format of a cache entry: a magic line, the lengths, a checksum, the metadata as JSON, the body.
enum CacheFile {
    private static var magic: [UInt8] { Array("NetworkKit cache 2\n".utf8) }
    private static var headerCount: Int { magic.count + 3 * 8 }

    static func encode(_ response: CachedResponse, hash: KeyedHash) throws -> Data {
        let metadata = try JSONEncoder().encode(response.metadata)
        var data = Data(magic)
        for number in [UInt64(metadata.count), UInt64(response.body.count), hash(metadata + response.body)] {
            withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
        }
        data.append(metadata)
        data.append(response.body)
        return data
    }

    /// Reads an entry; `nil` when the file is damaged.
    static func decode(_ data: Data, hash: KeyedHash) -> CachedResponse? {
        let data = Data(data)
        guard data.count >= headerCount, data.starts(with: magic) else { return nil }
        let numbers: [UInt64] = (0..<3).map { index in
            data[(magic.count + index * 8)...].prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        let available = UInt64(data.count - headerCount)
        guard numbers[0] <= available, numbers[1] == available - numbers[0] else { return nil }
        let bodyStart = headerCount + Int(numbers[0])
        guard hash(Data(data[headerCount...])) == numbers[2],
            let metadata = try? JSONDecoder().decode(
                CachedResponse.Metadata.self,
                from: Data(data[headerCount..<bodyStart])
            ),
            (100...599).contains(metadata.status)
        else { return nil }
        return CachedResponse(metadata: metadata, body: Data(data[bodyStart...]))
    }

    /// The file name for a URL. It does not reveal the URL.
    static func name(of key: String, hash: KeyedHash) -> String { hash.digest(key) + ".cache" }
}
