import Foundation

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
        let numbers = (0..<3).map { index in
            data[(magic.count + index * 8)...].prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
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
    static func name(of key: String, hash: KeyedHash) -> String {
        [hash("1" + key), hash("2" + key)].map { hash in
            let text = String(hash, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined() + ".cache"
    }
}
