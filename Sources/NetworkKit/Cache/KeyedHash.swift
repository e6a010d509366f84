import Foundation

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

    /// A hash of 128 bits, in hexadecimal digits.
    func digest(_ text: String) -> String {
        ["1", "2"].map { String(format: "%016lx", self($0 + text)) }.joined()
    }

    private static func word(_ bytes: Data) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }

    private static func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
}
