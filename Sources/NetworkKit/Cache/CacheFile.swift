import Foundation

/// How an entry of the cache lies in a file: a line that says what it is, the lengths and a checksum, the metadata as JSON, the body.
enum CacheFile {
    private static var magic: [UInt8] { Array("NetworkKit cache 1\n".utf8) }
    private static var headerCount: Int { magic.count + 3 * 8 }

    static func encode(_ response: CachedResponse) throws -> Data {
        let metadata = try JSONEncoder().encode(response.metadata)
        var data = Data(magic)
        for number in [UInt64(metadata.count), UInt64(response.body.count), checksum(metadata, response.body)] {
            withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
        }
        data.append(metadata)
        data.append(response.body)
        return data
    }

    /// Reads an entry; `nil` when anything about the file is not as it was written.
    static func decode(_ data: Data) -> CachedResponse? {
        let data = Data(data)
        guard data.count >= headerCount, data.starts(with: magic) else { return nil }
        let numbers = (0..<3).map { index in
            data[(magic.count + index * 8)...].prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        }
        let available = UInt64(data.count - headerCount)
        guard numbers[0] <= available, numbers[1] == available - numbers[0] else { return nil }
        let bodyStart = headerCount + Int(numbers[0])
        let metadata = Data(data[headerCount..<bodyStart])
        let body = Data(data[bodyStart...])
        guard checksum(metadata, body) == numbers[2],
            let decoded = try? JSONDecoder().decode(CachedResponse.Metadata.self, from: metadata)
        else { return nil }
        return CachedResponse(metadata: decoded, body: body)
    }

    /// The name of the file of a URL. Different URLs of one name are told apart by the metadata.
    static func name(of key: String) -> String {
        let hashes = [UInt64(0xCBF2_9CE4_8422_2325), 0x9E37_79B9_7F4A_7C15].map { fnv1a(Data(key.utf8), basis: $0) }
        return hashes.map { hash in
            let text = String(hash, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }.joined() + ".cache"
    }

    private static func checksum(_ metadata: Data, _ body: Data) -> UInt64 {
        fnv1a(body, basis: fnv1a(metadata, basis: 0xCBF2_9CE4_8422_2325))
    }

    /// The FNV-1a hash, which sees every changed byte of a damaged file; it is no defence against forgery.
    private static func fnv1a(_ data: Data, basis: UInt64) -> UInt64 {
        data.withUnsafeBytes { bytes in
            var hash = basis
            for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
            return hash
        }
    }
}
