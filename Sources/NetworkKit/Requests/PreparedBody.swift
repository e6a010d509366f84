import Foundation
import IndicatorThreads

/// The body of a request, as pieces that can be read again for each attempt.
struct PreparedBody: Sendable {
    enum Piece: Sendable {
        case data(Data)
        /// Its first bytes: not what is added meanwhile.
        case file(URL, count: Int64)
        case stream(name: String, @Sendable () throws -> InputStream)
    }

    private(set) var pieces: [Piece] = []
    /// The length in bytes; `nil` when that of a piece is unknown.
    private(set) var count: Int64? = 0
    let contentType: String

    init(_ data: Data = Data(), contentType: String) {
        self.contentType = contentType
        append(data)
    }

    mutating func append(_ data: Data) {
        pieces.append(.data(data))
        count? += Int64(data.count)
    }

    /// Adds a file. Its length must not change until it is sent.
    mutating func append(fileAt url: URL) throws {
        var status = stat()
        guard stat(url.path, &status) == 0, access(url.path, R_OK) == 0 else {
            let problem = "'\(url.path)' cannot be read: \(String(cString: strerror(errno)))"
            throw NetworkError.invalidRequest("the file \(problem)")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw NetworkError.invalidRequest("the file '\(url.path)' cannot be sent: it is not a regular file")
        }
        pieces.append(.file(url, count: Int64(status.st_size)))
        count? += Int64(status.st_size)
    }

    mutating func append(stream: @escaping @Sendable () throws -> InputStream, named name: String) {
        pieces.append(.stream(name: name, stream))
        count = nil
    }

    /// Whether it is in memory, and so short that it is sent at once.
    var isSmall: Bool {
        pieces.allSatisfy { if case .data = $0 { true } else { false } } && count.map { $0 < 1 << 16 } == true
    }

    /// The bytes that are in memory.
    var bytesInMemory: Data { pieces.reduce(into: Data()) { if case .data(let data) = $1 { $0 += data } } }
}

/// Reads a body once, on one thread.
final class BodyReader {
    private var pieces: [PreparedBody.Piece]
    /// That of the last piece, or the descriptor of its file.
    private var stream: InputStream?
    private var descriptor: Int32 = -1
    /// How many bytes of it have been read.
    private var count: Int64 = 0

    init(_ body: PreparedBody) { pieces = body.pieces.reversed() }

    deinit { close() }

    /// Reads some bytes; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while let piece = pieces.last {
            let read = try read(piece, into: buffer)
            count += Int64(read)
            if read > 0 { return read }
            close()
            pieces.removeLast()
        }
        return 0
    }

    private func close() {
        stream?.close()
        if descriptor >= 0 { Glibc.close(descriptor) }
        (stream, descriptor, count) = (nil, -1, 0)
    }

    private func read(_ piece: PreparedBody.Piece, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var (read, name) = (0, "")
        switch piece {
        case .data(let data):
            return data.dropFirst(Int(count)).prefix(buffer.count).copyBytes(to: buffer)
        case .file(let url, let total):
            guard count < total else { return 0 }
            // Not an `InputStream`, whose file child processes inherit.
            if descriptor < 0 {
                descriptor = StandardStreams.excluding(open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
            }
            (read, name) = (Glibc.read(descriptor, buffer.baseAddress, min(buffer.count, Int(total - count))), url.path)
            if read == 0 { read = -1 }
        case .stream(let own, let make):
            if stream == nil {
                stream = try make()
                stream?.open()
            }
            let bytes = buffer.bindMemory(to: UInt8.self).baseAddress
            (read, name) = (bytes.flatMap { stream?.read($0, maxLength: buffer.count) } ?? 0, own)
        }
        guard read >= 0 else { throw NetworkError.invalidRequest("'\(name)' cannot be read to its end") }
        return read
    }
}
