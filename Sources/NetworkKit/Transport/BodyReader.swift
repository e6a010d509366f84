import Foundation

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
    /// Called when there are bytes after ``read(into:)`` returned `nil`, on any thread.
    private let wake: @Sendable () -> Void

    init(_ body: RequestBody, wake: @escaping @Sendable () -> Void = {}) {
        pieces = body.pieces.reversed()
        self.wake = wake
    }

    deinit {
        closeSource()
    }

    /// Reads some bytes; 0 at the end, and `nil` if there are none yet.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int? {
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
