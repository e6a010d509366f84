import Foundation
import Synchronization

/// The cache on disk: one file per entry, in a dedicated folder. All functions block.
///
/// Files are written under a temporary name and then renamed, so no reader sees a partial one. A file's modification
/// time is when the entry was last written or read. Only the user can read the files.
final class CacheDisk: Sendable {
    /// Hashes secrets. The key is stored in the folder.
    let hash: KeyedHash
    private let directory: URL
    private let capacity: Int
    /// The size of the files, as far as this process knows.
    private let known = Atomic(0)

    /// Opens the folder; creates it if it does not exist.
    init(directory: URL, capacity: Int) throws {
        self.directory = directory
        self.capacity = capacity
        try? FileManager.default.createDirectory(
            at: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        var status = stat()
        guard lstat(directory.path, &status) == 0 else {
            throw NetworkError.unwritable(directory, reason: String(cString: strerror(errno)))
        }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            let rule = "only this user may own the cache's folder and write to it; the cache creates a missing folder"
            throw NetworkError.unwritable(directory, reason: rule)
        }
        let file = directory.appending(path: "key")
        // If processes create it at the same time, the last one counts in their next runs.
        let saved = FileManager.default.contents(atPath: file.path).flatMap { KeyedHash(key: $0) }
        hash = saved ?? KeyedHash()
        if saved == nil { try Self.write(hash.key, to: file) }
        trim(to: capacity)
    }

    func read(_ key: String) -> CachedResponse? {
        let file = file(of: key)
        guard let data = FileManager.default.contents(atPath: file.path) else { return nil }
        guard let response = CachedResponse(data, hash) else { remove(key); return nil }
        utimensat(AT_FDCWD, file.path, nil, 0)
        return response
    }

    func write(_ response: CachedResponse, for key: String) {
        // Also if the new entry cannot be written, which is not an error of the request.
        remove(key)
        guard let data = try? response.encoded(hash), data.count <= capacity,
            (try? Self.write(data, to: file(of: key))) != nil
        else { return }
        let size = known.add(data.count, ordering: .relaxed).newValue
        // So that the folder is seldom listed; the new entry stays.
        if size > capacity { trim(to: max(capacity / 4 * 3, data.count)) }
    }

    private static func write(_ data: Data, to file: URL) throws {
        let partial = try PartialFile(for: file)
        try partial.write(data)
        try partial.moveIntoPlace()
    }

    func remove(_ key: String) {
        let path = file(of: key).path
        var status = stat()
        guard lstat(path, &status) == 0, unlink(path) == 0 else { return }
        known.subtract(Int(status.st_size), ordering: .relaxed)
    }

    func removeAll() { trim(to: 0) }

    /// Removes what was not used for the longest time: entries, and what processes left that were killed.
    private func trim(to limit: Int) {
        let keys: Set<URLResourceKey> = [.contentModificationDateKey, .fileSizeKey]
        let files = try? FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: Array(keys))
        let entries = (files ?? []).compactMap { file -> (file: URL, date: Date, size: Int)? in
            // Other files may be the user's, if the folder is not only the cache's.
            guard file.lastPathComponent.wholeMatch(of: /\.?[0-9a-f]{32}\.cache(\..+\.partial)?/) != nil,
                let values = try? file.resourceValues(forKeys: keys),
                let date = values.contentModificationDate, let size = values.fileSize
            else { return nil }
            return (file, date, size)
        }
        var size = entries.reduce(0) { $0 + $1.size }
        for entry in entries.sorted(by: { $0.date < $1.date }) where size > limit {
            unlink(entry.file.path)
            size -= entry.size
        }
        known.store(size, ordering: .relaxed)
    }

    /// The file of a URL. Its name does not reveal the URL.
    private func file(of key: String) -> URL { directory.appending(path: hash.digest(key) + ".cache") }
}

/// The file of a cache entry: a checksum, the metadata as JSON on one line, the body.
extension CachedResponse {
    func encoded(_ hash: KeyedHash) throws -> Data {
        let content = try JSONEncoder().encode(self) + [0x0A] + body
        return hash.checksum(of: content) + content
    }

    /// Reads an entry; `nil` when the file is damaged.
    init?(_ data: Data, _ hash: KeyedHash) {
        let content = Data(data.dropFirst(8))
        guard data.prefix(8) == hash.checksum(of: content), let end = content.firstIndex(of: 0x0A),
            let response = try? JSONDecoder().decode(Self.self, from: content[..<end]),
            (100...599).contains(response.status)
        else { return nil }
        self = response
        body = Data(content[(end + 1)...])
    }
}

/// SipHash-2-4 (Aumasson and Bernstein, 2012), which reveals nothing without the key. Swift's `Hasher` differs in each
/// process.
struct KeyedHash: Sendable {
    /// 16 bytes.
    let key: Data

    init() { key = Data((0..<16).map { _ in .random(in: 0...255) }) }

    /// Uses a saved key; `nil` when it has the wrong size.
    init?(key: Data) {
        guard key.count == 16 else { return nil }
        self.key = key
    }

    func callAsFunction(_ data: Data) -> UInt64 {
        let (first, second) = (Self.word(key.prefix(8)), Self.word(key.suffix(8)))
        var a = first ^ 0x736F_6D65_7073_6575
        var b = second ^ 0x646F_7261_6E64_6F6D
        var c = first ^ 0x6C79_6765_6E65_7261
        var d = second ^ 0x7465_6462_7974_6573
        func round() {
            a = a &+ b
            b = Self.rotate(b, 13) ^ a
            a = Self.rotate(a, 32)
            c = c &+ d
            d = Self.rotate(d, 16) ^ c
            a = a &+ d
            d = Self.rotate(d, 21) ^ a
            c = c &+ b
            b = Self.rotate(b, 17) ^ c
            c = Self.rotate(c, 32)
        }
        func take(_ word: UInt64) {
            d ^= word
            round()
            round()
            a ^= word
        }
        let tail = data.count / 8 * 8
        data.withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: tail, by: 8) {
                take(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            }
        }
        take(Self.word(data.dropFirst(tail)) | UInt64(truncatingIfNeeded: data.count) << 56)
        c ^= 0xFF
        for _ in 0..<4 { round() }
        return a ^ b ^ c ^ d
    }

    func callAsFunction(_ text: String) -> UInt64 { self(Data(text.utf8)) }

    func checksum(of content: Data) -> Data { withUnsafeBytes(of: self(content).littleEndian) { Data($0) } }

    /// A hash of 128 bits, in hexadecimal digits.
    func digest(_ text: String) -> String {
        ["1", "2"].map { String(format: "%016lx", self($0 + text)) }.joined()
    }

    private static func word(_ bytes: Data) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
}
