import Foundation

extension MultipartForm {
    private static var chunkSize: Int { 256 * 1024 }

    /// Writes the whole body into a new temporary file. Blocks.
    func writeTemporaryFile(cancellation: CancellationFlag = .init()) throws -> TemporaryFile {
        let file = try TemporaryFile()
        let output = try FileHandle(forWritingTo: file.url)
        defer { try? output.close() }
        for part in parts {
            try output.write(contentsOf: Data(part.header(boundary: boundary).utf8))
            switch part.content {
            case .data(let data): try output.write(contentsOf: data)
            case .file(let url): try copy(fileAt: url, to: output, cancellation)
            case .stream(let make): try copy(make(), "the stream of part '\(part.name)'", to: output, cancellation)
            }
            try output.write(contentsOf: Data("\r\n".utf8))
        }
        try output.write(contentsOf: Data("--\(boundary)--\r\n".utf8))
        return file
    }

    private func copy(fileAt url: URL, to output: FileHandle, _ cancellation: CancellationFlag) throws {
        let input: FileHandle
        do {
            input = try FileHandle(forReadingFrom: url)
        } catch {
            throw NetworkError.invalidRequest("the file '\(url.path)' cannot be read: \(error.localizedDescription)")
        }
        defer { try? input.close() }
        do {
            while let piece = try input.read(upToCount: Self.chunkSize), !piece.isEmpty {
                if cancellation.isSet { throw CancellationError() }
                try output.write(contentsOf: piece)
            }
        } catch let error as CocoaError {
            throw NetworkError.invalidRequest("the file '\(url.path)' cannot be copied: \(error.localizedDescription)")
        }
    }

    private func copy(
        _ input: InputStream,
        _ source: String,
        to output: FileHandle,
        _ cancellation: CancellationFlag
    ) throws {
        input.open()
        defer { input.close() }
        let buffer = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Self.chunkSize)
        defer { buffer.deallocate() }
        guard let start = buffer.baseAddress else { return }
        while true {
            if cancellation.isSet { throw CancellationError() }
            let count = input.read(start, maxLength: buffer.count)
            if count == 0 { return }
            guard count > 0 else { throw NetworkError.invalidRequest("\(source) cannot be read to its end") }
            try output.write(contentsOf: Data(bytesNoCopy: start, count: count, deallocator: .none))
        }
    }
}

/// A file that only this process reads and that is gone with the last reference.
final class TemporaryFile: Sendable {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "network-kit-\(UUID().uuidString)")
        let descriptor = open(url.path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw NetworkError.invalidRequest(
                "the temporary file '\(url.path)' for the body cannot be made: \(reason); set TMPDIR to a folder that can be written"
            )
        }
        close(descriptor)
    }

    deinit {
        unlink(url.path)
    }
}
