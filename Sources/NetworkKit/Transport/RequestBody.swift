import Foundation

/// The body of a request, as pieces that can be read again for each attempt.
struct RequestBody: Sendable {
    enum Piece: Sendable {
        case data(Data)
        case file(URL, count: Int64)
        /// Of unknown length.
        case stream(name: String, @Sendable () throws -> InputStream)
        /// Of unknown length.
        case sequence(SequenceReader.Producer)
    }

    private(set) var pieces: [Piece] = []
    /// The length in bytes; `nil` when a piece is a stream.
    private(set) var count: Int64? = 0
    var contentType: String?
    /// `gzip`, if the body is compressed.
    private(set) var contentEncoding: String?
    /// Whether it is compressed while it is sent.
    private(set) var isCompressedLater = false

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

    mutating func append(sequence producer: @escaping SequenceReader.Producer) {
        pieces.append(.sequence(producer))
        count = nil
    }

    /// Compresses the body: now, if all of it is in memory, so that its length is known. Blocks.
    mutating func compress() throws {
        contentEncoding = "gzip"
        isCompressedLater = true
        let isInMemory = pieces.allSatisfy { if case .data = $0 { true } else { false } }
        count = nil
        guard isInMemory else { return }
        let reader = BodyReader(self)
        var compressed = Data()
        try withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
            while let count = try reader.read(into: buffer), count > 0 {
                compressed.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
        }
        isCompressedLater = false
        (pieces, count) = ([.data(compressed)], Int64(compressed.count))
    }

    /// The first bytes that are in memory.
    func start(_ limit: Int) -> Data {
        var start = Data()
        for case .data(let data) in pieces where start.count < limit { start += data.prefix(limit - start.count) }
        return start
    }

    static func unreadable(_ url: URL, _ code: Int32) -> NetworkError {
        .invalidRequest("the file '\(url.path)' cannot be read: \(String(cString: strerror(code)))")
    }
}

/// Reads a body once, on one thread.
final class BodyReader {
    private enum Source {
        case data(Data)
        case file(Int32, URL, left: Int64)
        case stream(InputStream, name: String)
        case sequence(SequenceReader)
    }

    private var pieces: [RequestBody.Piece]
    private var source: Source?
    private let isCompressed: Bool
    private lazy var deflater = Deflater()
    /// Called when there are bytes after ``read(into:)`` returned `nil`, on any thread.
    private let wake: @Sendable () -> Void

    init(_ body: RequestBody, wake: @escaping @Sendable () -> Void = {}) {
        pieces = body.pieces.reversed()
        isCompressed = body.isCompressedLater
        self.wake = wake
    }

    deinit {
        closeSource()
    }

    /// Reads some bytes; 0 at the end, and `nil` if there are none yet.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        guard isCompressed else { return try readPieces(into: buffer) }
        guard let deflater else { throw NetworkError.invalidRequest("the body cannot be compressed: no memory") }
        return try deflater.read(into: buffer) {
            try withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { piece in
                try readPieces(into: piece).map { Data(UnsafeRawBufferPointer(rebasing: piece[..<$0])) }
            }
        }
    }

    private func readPieces(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        while true {
            if source == nil {
                guard let piece = pieces.popLast() else { return 0 }
                source = try open(piece)
            }
            guard let count = try readSource(into: buffer) else { return nil }
            if count > 0 { return count }
            closeSource()
        }
    }

    private func open(_ piece: RequestBody.Piece) throws -> Source {
        switch piece {
        case .data(let data):
            return .data(data)
        case .file(let url, let count):
            let descriptor = Glibc.open(url.path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw RequestBody.unreadable(url, errno) }
            return .file(descriptor, url, left: count)
        case .stream(let name, let make):
            let stream = try make()
            stream.open()
            return .stream(stream, name: name)
        case .sequence(let producer):
            let reader = SequenceReader()
            reader.start(producer, wake: wake)
            return .sequence(reader)
        }
    }

    private func readSource(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
        switch source {
        case nil:
            return 0
        case .sequence(let reader):
            return try reader.read(into: buffer)
        case .data(let data):
            let count = data.copyBytes(to: buffer)
            source = .data(data.dropFirst(count))
            return count
        case .file(let descriptor, let url, let left):
            guard left > 0 else { return 0 }
            let count = Glibc.read(descriptor, buffer.baseAddress, min(buffer.count, Int(left)))
            guard count >= 0 else { throw RequestBody.unreadable(url, errno) }
            guard count > 0 else {
                throw NetworkError.invalidRequest("the file '\(url.path)' became shorter while it was sent")
            }
            source = .file(descriptor, url, left: left - Int64(count))
            return count
        case .stream(let stream, let name):
            guard let start = buffer.bindMemory(to: UInt8.self).baseAddress else { return 0 }
            let count = stream.read(start, maxLength: buffer.count)
            guard count >= 0 else {
                throw NetworkError.invalidRequest("the stream of part '\(name)' cannot be read to its end")
            }
            return count
        }
    }

    private func closeSource() {
        switch source {
        case .file(let descriptor, _, _): close(descriptor)
        case .stream(let stream, _): stream.close()
        case .sequence(let reader): reader.cancel()
        case .data, nil: break
        }
        source = nil
    }
}
