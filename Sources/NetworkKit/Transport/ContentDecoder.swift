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
    /// Decodes what this one has decoded.
    private let next: ContentDecoder?
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    /// The end of the body, or of a member of gzip, is a complete one.
    private var isComplete = true
    private var isPrepared = false
    /// The rest is no compressed data, and ignored as browsers do.
    private var hasEnded = false
    /// How many bytes of the input that is offered again were decoded before a pause.
    private var skipped = 0
    /// What was decoded. Small: a body may grow a thousand times.
    private let output = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    /// How much of it was not received because of a pause.
    private var waiting = 0

    /// Creates the decoder for a value of `Content-Encoding`; `nil` if there is nothing to decode.
    ///
    /// - Throws: ``Problem`` if an encoding was not asked for.
    static func decoder(for encodings: String?) throws(Problem) -> ContentDecoder? {
        let names = (encodings ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
            .filter { $0 != "identity" }
        guard names.count <= 5 else { throw Problem(text: "the body is compressed more than five times") }
        var decoder: ContentDecoder?
        for name in names {
            guard ["gzip", "x-gzip", "deflate"].contains(name) else {
                throw Problem(text: "the server sent the encoding '\(name)', which was not asked for")
            }
            decoder = ContentDecoder(isGzip: name != "deflate", next: decoder)
        }
        return decoder
    }

    private init(isGzip: Bool, next: ContentDecoder?) {
        (self.isGzip, self.next) = (isGzip, next)
        stream.initialize(to: z_stream())
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Whether the end of the body may be here.
    var isAtEnd: Bool { isComplete && next?.isAtEnd ?? true }

    /// Decodes bytes of the body, and passes on the result in pieces until one is not accepted. After a pause, the same
    /// bytes have to be offered again.
    func decode(
        _ input: UnsafeRawBufferPointer,
        _ receive: (UnsafeRawBufferPointer) -> Transfer.Machine.Reception
    ) throws(Problem) -> Transfer.Machine.Reception {
        func pass() throws(Problem) -> Transfer.Machine.Reception {
            let piece = UnsafeRawBufferPointer(rebasing: output[..<waiting])
            let reception = if let next { try next.decode(piece, receive) } else { receive(piece) }
            if reception == .accepted { waiting = 0 }
            return reception
        }
        if waiting > 0 {
            let reception = try pass()
            guard reception == .accepted else { return reception }
        }
        let begin = min(skipped, input.count)
        skipped -= begin
        var rest = UnsafeRawBufferPointer(rebasing: input[begin...])
        // With a full buffer there may be more, also of no input.
        var isFull = isPrepared && begin > 0
        while !hasEnded, !rest.isEmpty || isFull {
            if isComplete {
                guard let first = rest.first, try prepare(for: first) else { break }
            }
            let (status, used, made) = inflate(rest)
            rest = UnsafeRawBufferPointer(rebasing: rest[used...])
            (waiting, isFull) = (made, made == output.count)
            switch status {
            case Z_STREAM_END: (isComplete, hasEnded, isFull) = (true, !isGzip, false)
            case Z_OK, Z_BUF_ERROR: break
            default: throw Problem(text: "the compressed body is damaged")
            }
            guard made > 0 else { continue }
            let reception = try pass()
            if reception == .pause { skipped += input.count - rest.count }
            guard reception == .accepted else { return reception }
        }
        return .accepted
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
        (isPrepared, isComplete) = (true, false)
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
