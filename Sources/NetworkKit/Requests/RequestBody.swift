import Foundation

/// The body of a request, as pieces that can be read again for each attempt.
struct RequestBody: Sendable {
    /// Passes the elements of a new sequence to a function, which returns when an element was sent.
    typealias Producer = @Sendable (_ pass: @Sendable (Data) async throws -> Void) async throws -> Void

    enum Piece: Sendable {
        case data(Data)
        case file(URL, count: Int64)
        /// Of unknown length.
        case stream(name: String, @Sendable () throws -> InputStream)
        /// Of unknown length.
        case sequence(Producer)
    }

    private(set) var pieces: [Piece] = []
    /// The length in bytes; `nil` when a piece is a stream.
    private(set) var count: Int64? = 0
    var contentType: String?

    init(_ data: Data = Data()) {
        append(data)
    }

    mutating func append(_ data: Data) {
        pieces.append(.data(data))
        count? += Int64(data.count)
    }

    /// Adds a file. Its length must not change until it is sent. Blocks.
    mutating func append(fileAt url: URL) throws {
        var status = stat()
        guard stat(url.path, &status) == 0 else { throw RequestBody.unreadable(url, errno) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw NetworkError.invalidRequest("'\(url.path)' cannot be sent: it is not a regular file")
        }
        pieces.append(.file(url, count: Int64(status.st_size)))
        count? += Int64(status.st_size)
    }

    mutating func append(stream make: @escaping @Sendable () throws -> InputStream, named name: String) {
        pieces.append(.stream(name: name, make))
        count = nil
    }

    mutating func append(sequence producer: @escaping Producer) {
        pieces.append(.sequence(producer))
        count = nil
    }

    /// The bytes that are in memory.
    var bytesInMemory: Data {
        var bytes = Data()
        for case .data(let data) in pieces { bytes += data }
        return bytes
    }

    static func unreadable(_ url: URL, _ code: Int32) -> NetworkError {
        .invalidRequest("the file '\(url.path)' cannot be read: \(String(cString: strerror(code)))")
    }
}
