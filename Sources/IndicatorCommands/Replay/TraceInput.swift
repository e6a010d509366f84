import Foundation

/// The bytes of a file or of standard input, read through a buffer that holds a line or, for an object, the whole
/// trace.
package final class TraceInput {
    /// The name in messages: the path, or `standard input`.
    package let name: String
    private let descriptor: Int32
    private var buffer: UnsafeMutablePointer<UInt8>
    private var capacity = 256 * 1024
    private var start = 0
    private var end = 0

    /// Opens a file; `-` is standard input.
    package init(path: String) throws(TraceError) {
        name = Self.name(of: path)
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw TraceError(file: name, message: "cannot be opened: \(String(cString: strerror(errno)))")
        }
        buffer = .allocate(capacity: capacity)
    }

    deinit {
        buffer.deallocate()
        close(descriptor)
    }

    /// The name of a trace in messages; `-` is standard input.
    package static func name(of path: String) -> String { path == "-" ? "standard input" : path }

    /// The unconsumed bytes. Valid until the next call of ``fill(limit:)``.
    package var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: buffer + start, count: end - start) }

    /// Removes bytes from the front of the buffer.
    package func consume(_ count: Int) {
        start += count
    }

    /// Reads available bytes, or waits for some. Returns `false` at the end of the input, and when `limit` bytes are
    /// buffered.
    package func fill(limit: Int) throws(TraceError) -> Bool {
        if start > 0 {
            memmove(buffer, buffer + start, end - start)
            end -= start
            start = 0
        }
        guard end < limit else { return false }
        if end == capacity {
            let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: min(capacity * 2, limit))
            memcpy(larger, buffer, end)
            buffer.deallocate()
            buffer = larger
            capacity = min(capacity * 2, limit)
        }
        while true {
            let count = read(descriptor, buffer + end, capacity - end)
            if count >= 0 {
                end += count
                return count > 0
            }
            guard errno == EINTR else {
                throw TraceError(file: name, message: "cannot be read: \(String(cString: strerror(errno)))")
            }
        }
    }
}
