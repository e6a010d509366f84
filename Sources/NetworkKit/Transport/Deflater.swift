import CZlib
import Foundation

/// Compresses with gzip (RFC 1952), a part at a time.
final class Deflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private var input = Data()
    private var hasEnded = false

    /// `nil` without memory.
    init?() {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15: the largest window; 16: with gzip's header and checksum; 8: the default memory.
        let size = Int32(MemoryLayout<z_stream>.size)
        let status = deflateInit2_(
            stream,
            Z_DEFAULT_COMPRESSION,
            Z_DEFLATED,
            15 + 16,
            8,
            Z_DEFAULT_STRATEGY,
            ZLIB_VERSION,
            size
        )
        guard status == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Compresses what `next` returns, until there is some output.
    ///
    /// - Parameter next: returns bytes; none at the end, and `nil` if there are none yet.
    /// - Returns: the number of compressed bytes; 0 at the end, and `nil` if there are none yet.
    func read(into buffer: UnsafeMutableRawBufferPointer, _ next: () throws -> Data?) throws -> Int? {
        while true {
            if input.isEmpty, !hasEnded {
                guard let more = try next() else { return nil }
                input = more
                hasEnded = more.isEmpty
            }
            let (count, left) = input.withUnsafeBytes { bytes -> (Int, Int) in
                stream.pointee.next_in = UnsafeMutablePointer(
                    mutating: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                )
                stream.pointee.avail_in = UInt32(bytes.count)
                stream.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                stream.pointee.avail_out = UInt32(buffer.count)
                // After the end, and without room, it has nothing to do.
                deflate(stream, hasEnded ? Z_FINISH : Z_NO_FLUSH)
                return (buffer.count - Int(stream.pointee.avail_out), Int(stream.pointee.avail_in))
            }
            input = input.suffix(left)
            if count > 0 || hasEnded { return count }
        }
    }
}
