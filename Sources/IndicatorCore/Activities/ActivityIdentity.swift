import Foundation

/// What an activity is known by in an ``ActivityTable``, with a hash that costs less than `Hasher`'s.
///
/// Equal identities have equal hashes.
protocol ActivityIdentity: Hashable {
    /// A hash of which the upper 32 bits are used.
    ///
    /// - Parameter seed: a number that nobody who chooses identities knows.
    func tableHash(seed: UInt64) -> UInt64
}

/// Mixes by multiplying to 128 bits and folding the halves.
enum FoldedHash {
    private static let factor: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// The hash of a number.
    @inline(__always)
    static func of(_ value: UInt64, seed: UInt64) -> UInt64 {
        fold(value ^ seed, factor)
    }

    /// The hash of some bytes.
    @inline(__always)
    static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var hash = seed ^ UInt64(truncatingIfNeeded: bytes.count)
        var offset = 0
        while bytes.count - offset >= 8 {
            hash = fold(hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), factor)
            offset += 8
        }
        if offset == bytes.count { return fold(hash, factor) }
        var rest: UInt64 = 0
        if bytes.count >= 8 {
            // Some bytes twice, which costs less than taking them one by one.
            rest = bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self)
        } else {
            for byte in bytes[offset...] { rest = rest << 8 | UInt64(byte) }
        }
        return fold(fold(hash ^ rest, factor), factor)
    }

    @inline(__always)
    private static func fold(_ value: UInt64, _ factor: UInt64) -> UInt64 {
        let (high, low) = value.multipliedFullWidth(by: factor)
        return high ^ low
    }
}

extension String: ActivityIdentity {
    /// The hash of the text's canonical composition: strings that are equal may differ in their bytes, except those of ASCII.
    @inline(__always)
    func tableHash(seed: UInt64) -> UInt64 {
        let hash = utf8.withContiguousStorageIfAvailable { bytes in
            Self.isASCII(bytes) ? FoldedHash.of(UnsafeRawBufferPointer(bytes), seed: seed) : nil
        }
        if case .some(.some(let hash)) = hash { return hash }
        return composedHash(seed: seed)
    }

    private func composedHash(seed: UInt64) -> UInt64 {
        var composed = precomposedStringWithCanonicalMapping
        return composed.withUTF8 { FoldedHash.of(UnsafeRawBufferPointer($0), seed: seed) }
    }

    @inline(__always)
    private static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let bytes = UnsafeRawBufferPointer(bytes)
        var all: UInt64 = 0
        var offset = 0
        while bytes.count - offset >= 8 {
            all |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            offset += 8
        }
        while offset < bytes.count {
            all |= UInt64(bytes[offset])
            offset += 1
        }
        return all & 0x8080_8080_8080_8080 == 0
    }
}

extension Int: ActivityIdentity {
    func tableHash(seed: UInt64) -> UInt64 { FoldedHash.of(UInt64(bitPattern: Int64(self)), seed: seed) }
}

extension ObservedObject.Key: ActivityIdentity {
    func tableHash(seed: UInt64) -> UInt64 {
        FoldedHash.of(UInt64(UInt(bitPattern: object)) &+ (role == .tracked ? 1 : 0), seed: seed)
    }
}
