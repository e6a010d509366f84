import Foundation

/// Reads a body once, on one thread.
final class BodyReader {
    private var pieces: [PreparedBody.Piece]
    /// That of the last piece.
    private var stream: InputStream?
    /// How many bytes of it have been read.
    private var count: Int64 = 0

    init(_ body: PreparedBody) { pieces = body.pieces.reversed() }

    deinit { stream?.close() }

    /// Reads some bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while let piece = pieces.last {
            let read = try read(piece, into: buffer)
            count += Int64(read)
            if read > 0 { return read }
            stream?.close()
            (stream, count) = (nil, 0)
            pieces.removeLast()
        }
        return 0
    }

    private func read(_ piece: PreparedBody.Piece, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if let data = piece.data { return data.dropFirst(Int(count)).prefix(buffer.count).copyBytes(to: buffer) }
        guard let start = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
        let stream = try stream ?? piece.makeStream()
        if self.stream == nil {
            stream.open()
            self.stream = stream
        }
        // Not what was added to a file meanwhile.
        let left = piece.count.map { $0 - count } ?? .max
        let read = left == 0 ? 0 : stream.read(start, maxLength: Int(min(Int64(buffer.count), left)))
        guard read >= 0, read > 0 || left == 0 || left == .max else {
            throw NetworkError.invalidRequest("\(piece.name) cannot be read to its end")
        }
        return read
    }
}
