import Foundation
import IndicatorThreads

/// The body of a request, as pieces that can be read again for each attempt.
struct PreparedBody: Sendable {
    struct Piece: Sendable {
        var name: String
        /// `nil` when it is unknown.
        var count: Int64?
        /// The bytes, if they are in memory.
        var data: Data?
        var makeStream: @Sendable () throws -> InputStream = { InputStream(data: Data()) }
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
        append(Piece(name: "the body", count: Int64(data.count), data: data))
    }

    /// Adds a file. Its length must not change until it is sent. Blocks.
    mutating func append(fileAt url: URL) throws {
        let name = "the file '\(url.path)'"
        let file = FileStream(url)
        var status = stat()
        guard file.descriptor >= 0, fstat(file.descriptor, &status) == 0 else {
            throw NetworkError.invalidRequest("\(name) cannot be read: \(String(cString: strerror(errno)))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw NetworkError.invalidRequest("\(name) cannot be sent: it is not a regular file")
        }
        append(Piece(name: name, count: Int64(status.st_size)) { FileStream(url) })
    }

    mutating func append(stream: @escaping @Sendable () throws -> InputStream, named name: String) {
        append(Piece(name: name, makeStream: stream))
    }

    private mutating func append(_ piece: Piece) {
        pieces.append(piece)
        if let added = piece.count { count? += added } else { count = nil }
    }

    /// The bytes that are in memory.
    var bytesInMemory: Data { pieces.reduce(into: Data()) { $0 += $1.data ?? Data() } }
}

/// A file. That of an `InputStream(url:)` is inherited by child processes.
private final class FileStream: InputStream {
    /// Negative if the file cannot be opened.
    let descriptor: Int32

    init(_ url: URL) {
        descriptor = StandardStreams.excluding(Glibc.open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
        super.init(data: Data())
    }

    deinit { if descriptor >= 0 { Glibc.close(descriptor) } }

    override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength: Int) -> Int {
        Glibc.read(descriptor, buffer, maxLength)
    }
}
