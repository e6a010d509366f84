public import Foundation
import IndicatorCore

/// The body of a request.
public struct RouteBody: Sendable {
    /// Encodes it; `nil` without a body. Asks for the length of files.
    let prepared: @Sendable () throws -> PreparedBody?

    /// No body.
    public static var none: Self { Self { nil } }

    /// The fields of a form, `application/x-www-form-urlencoded`; its arrays as ``Endpoint/usesBrackets`` says.
    public static func form(_ parameters: RouteParameters, usesBrackets: Bool = true) -> Self {
        Self {
            let text = try parameters.encoded(usesBrackets: usesBrackets)
            return PreparedBody(Data(text.utf8), contentType: "application/x-www-form-urlencoded; charset=utf-8")
        }
    }

    /// JSON, with a stable key order.
    public static func json(_ parameters: RouteParameters) -> Self {
        Self { PreparedBody(try parameters.value.get().serializedData, contentType: "application/json") }
    }

    /// A form that may contain files, `multipart/form-data`.
    public static func multipart(_ form: MultipartForm) -> Self {
        Self { try form.body() }
    }

    /// Bytes.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> Self {
        Self { PreparedBody(data, contentType: contentType) }
    }

    /// The contents of a file, streamed. By default the content type is that of the extension.
    public static func file(_ url: URL, contentType: String? = nil) -> Self {
        Self {
            var body = PreparedBody(contentType: contentType ?? MIMEType.forPathExtension(url.pathExtension))
            try body.append(fileAt: url)
            return body
        }
    }
}

/// The body of a request, as pieces that can be read again for each attempt.
struct PreparedBody: Sendable {
    enum Piece: Sendable {
        case data(Data)
        /// Its first bytes: not what is added meanwhile.
        case file(URL, count: Int64)
    }

    private(set) var pieces: [Piece] = []
    /// The length in bytes.
    private(set) var count: Int64 = 0
    let contentType: String

    init(_ data: Data = Data(), contentType: String) {
        self.contentType = contentType
        append(data)
    }

    mutating func append(_ data: Data) {
        pieces.append(.data(data))
        count += Int64(data.count)
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
        count += Int64(status.st_size)
    }

    /// Whether it is in memory, and so short that it is sent at once.
    var isSmall: Bool {
        pieces.allSatisfy { if case .data = $0 { true } else { false } } && count < 1 << 16
    }

    /// The bytes that are in memory.
    var bytesInMemory: Data { pieces.reduce(into: Data()) { if case .data(let data) = $1 { $0 += data } } }
}

/// Reads a body once, on one thread.
final class BodyReader {
    private var pieces: [PreparedBody.Piece]
    /// That of the last piece, if it is a file.
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
        if descriptor >= 0 { Glibc.close(descriptor) }
        (descriptor, count) = (-1, 0)
    }

    private func read(_ piece: PreparedBody.Piece, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        switch piece {
        case .data(let data):
            return data.dropFirst(Int(count)).prefix(buffer.count).copyBytes(to: buffer)
        case .file(let url, let total):
            guard count < total else { return 0 }
            if descriptor < 0 {
                descriptor = StandardStreams.excluding(open(url.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
            }
            let read = Glibc.read(descriptor, buffer.baseAddress, min(buffer.count, Int(total - count)))
            guard read > 0 else { throw NetworkError.invalidRequest("'\(url.path)' cannot be read to its end") }
            return read
        }
    }
}
