import CIndicatorCurl
import Foundation

/// Decompresses a body as it arrives (RFC 9110 §8.4.1): gzip with any number of members, and deflate, also without the
/// header of zlib, as some servers send it. Only used on the loop's thread.
///
/// Not by libcurl, which takes a truncated body for a complete one, rejects a second member of gzip, and keeps what it
/// has decompressed in memory during a pause.
final class ContentDecoder {
    struct Problem: Error { let text: String }

    private let isGzip: Bool
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    /// Whether the end of the body, or of a member of gzip, may be here.
    private(set) var isAtEnd: Bool
    private var isPrepared = false
    /// The rest is no compressed data, and ignored as browsers do.
    private var hasEnded = false
    /// What was decoded. Small: a body may grow a thousand times.
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)

    /// Creates the decoder for a value of `Content-Encoding`; `nil` if there is nothing to decode, as with `utf-8` or
    /// `aws-chunked`, which some servers send.
    ///
    /// - Parameter mayBeEmpty: whether a body without any bytes is complete.
    static func decoder(for encoding: String?, mayBeEmpty: Bool) throws(Problem) -> ContentDecoder? {
        switch (encoding ?? "").lowercased() {
        case "gzip", "x-gzip": return ContentDecoder(isGzip: true, isAtEnd: mayBeEmpty)
        case "deflate": return ContentDecoder(isGzip: false, isAtEnd: mayBeEmpty)
        case let other where ["br", "compress", "zstd"].contains(other) || other.contains(","):
            throw Problem(text: "the server sent the encoding '\(other)', which was not asked for")
        default: return nil
        }
    }

    private init(isGzip: Bool, isAtEnd: Bool) {
        (self.isGzip, self.isAtEnd) = (isGzip, isAtEnd)
        stream.initialize(to: z_stream())
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Decodes bytes of the body, and passes on the result in pieces until one is not accepted. Returns whether all
    /// were.
    func decode(
        _ input: UnsafeRawBufferPointer,
        _ receive: (UnsafeRawBufferPointer) -> Bool
    ) throws(Problem) -> Bool {
        var rest = input
        // With a full buffer there may be more, also of no input.
        var isFull = false
        while !hasEnded, !rest.isEmpty || isFull {
            if isAtEnd || !isPrepared {
                guard let first = rest.first, try prepare(for: first) else { break }
            }
            let (status, used, made) = inflate(rest)
            rest = UnsafeRawBufferPointer(rebasing: rest[used...])
            isFull = made == output.count
            switch status {
            case Z_STREAM_END: (isAtEnd, hasEnded, isFull) = (true, !isGzip, false)
            case Z_OK, Z_BUF_ERROR: break
            default: throw Problem(text: "the compressed body is damaged")
            }
            if made > 0, !receive(UnsafeRawBufferPointer(rebasing: output[..<made])) { return false }
        }
        return true
    }

    /// Prepares for what begins with a byte: the body, or another member of it. `false` if that is neither.
    private func prepare(for first: UInt8) throws(Problem) -> Bool {
        if isPrepared {
            hasEnded = first != 0x1F
            guard !hasEnded else { return false }
            inflateReset(stream)
        } else {
            // The header of zlib has the method 8 in its first byte, with which nothing else begins.
            let bits: Int32 = isGzip ? 15 + 16 : first & 0xF == 8 ? 15 : -15
            let size = Int32(MemoryLayout<z_stream>.size)
            guard inflateInit2_(stream, bits, ZLIB_VERSION, size) == Z_OK else {
                throw Problem(text: "the process is out of memory")
            }
        }
        (isPrepared, isAtEnd) = (true, false)
        return true
    }

    private func inflate(_ input: UnsafeRawBufferPointer) -> (status: Int32, used: Int, made: Int) {
        let bytes = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        (stream.pointee.next_in, stream.pointee.avail_in) = (bytes, UInt32(input.count))
        stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(output.count)
        let status = CIndicatorCurl.inflate(stream, Z_NO_FLUSH)
        return (status, input.count - Int(stream.pointee.avail_in), output.count - Int(stream.pointee.avail_out))
    }
}
