import Foundation
import IndicatorThreads

/// A datagram socket to which programs report their work.
///
/// It is a file of its own in `$XDG_RUNTIME_DIR/indicator`, or where that is not the user's, in a folder of its own in
/// `/tmp`. Both are accessible only to the user. A path survives what an inherited descriptor does not: sudo(8), a
/// shell in tmux(1), Python's `subprocess`.
package final class ReportSocket: Sendable {
    /// Why there is no socket.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The variable with the path, which the programs inherit.
    package static var variable: String { "INDICATOR_SOCKET" }

    package let path: String
    /// It is closed when the socket is released, which is after its thread has removed it.
    let descriptor: CInt
    private let temporaryFolder: String?

    /// Makes a socket. Removes what killed processes have left.
    ///
    /// - Parameter runtime: the user's folder for sockets.
    package init(in runtime: String? = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) }) throws(Failure) {
        func failure(_ path: String) -> Failure {
            Failure(description: "cannot make a socket for reports at '\(path)': \(String(cString: strerror(errno)))")
        }
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        let descriptor = StandardStreams.excluding(socket(AF_UNIX, type, 0))
        self.descriptor = descriptor
        // Under `sudo -E`, the folder of another user would get a folder that is not theirs.
        let isOwn = runtime.map { $0.hasPrefix("/") && Self.isOwn($0, allowing: 0o055) } == true
        let folder = "\(runtime ?? "")/indicator"
        if isOwn { mkdir(folder, 0o700) }
        if isOwn, Self.isOwn(folder) {
            Self.removeLeftovers(in: folder)
            path = "\(folder)/\(String(UInt64.random(in: .min ... .max), radix: 36))\(Self.suffix)"
            temporaryFolder = nil
        } else {
            // As under cron.
            for name in Self.names(in: "/tmp") where name.hasPrefix("indicator-") && Self.isOwn("/tmp/\(name)") {
                if Self.removeLeftovers(in: "/tmp/\(name)") { rmdir("/tmp/\(name)") }
            }
            var template = Array("/tmp/indicator-XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw failure("/tmp") }
            let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            (path, temporaryFolder) = ("\(folder)/socket\(Self.suffix)", folder)
        }
        let status = Self.withAddress(path) { bind(descriptor, $0, $1) }
        guard status == 0 else { throw failure(path) }
        chmod(path, 0o600)
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
        if let temporaryFolder { rmdir(temporaryFolder) }
    }

    /// Removes the socket's path.
    package func unlink() {
        Foundation.unlink(path)
        // Nor may those that have found it send more. What waits is still read.
        shutdown(descriptor, Int32(SHUT_RD))
        if let temporaryFolder { rmdir(temporaryFolder) }
    }

    /// The next datagram; `nil` if none waits. Descriptors that come with it are closed, because no room is offered for
    /// them (unix(7)). One that is too long is empty.
    func receive() -> [UInt8]? {
        let limit = ProgramStatus.Limit.sequence
        var count = 0
        let datagram = [UInt8](unsafeUninitializedCapacity: limit) { buffer, length in
            count = recv(descriptor, buffer.baseAddress, limit, Int32(MSG_TRUNC))
            length = (0...limit).contains(count) ? count : 0
        }
        return count < 0 ? nil : datagram
    }

    /// Whether a datagram waits.
    package var hasReports: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) >= 0
    }

    /// Sends a datagram, without waiting: the queue of a socket is short.
    ///
    /// - Returns: whether it has arrived.
    @discardableResult
    package static func send(_ text: String, to path: String) -> Bool {
        let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
        let socket = StandardStreams.excluding(socket(AF_UNIX, type, 0))
        defer { if socket >= 0 { close(socket) } }
        var text = text
        return text.withUTF8 { bytes in
            let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
            return withAddress(path) { sendto(socket, bytes.baseAddress, bytes.count, flags, $0, $1) } >= 0
        }
    }

    private static var suffix: String { ".reports" }

    /// Whether a folder, and no link to one, belongs to the user alone.
    private static func isOwn(_ path: String, allowing mode: mode_t = 0) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR && info.st_uid == geteuid()
            && info.st_mode & 0o077 & ~mode == 0
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Removes the sockets that no process has: only those refuse a connection.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    private static func removeLeftovers(in folder: String) -> Bool {
        var isFound = false
        for name in names(in: folder) where name.hasSuffix(suffix) {
            let path = "\(folder)/\(name)"
            var info = stat()
            guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFSOCK else { continue }
            let socket = StandardStreams.excluding(
                socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            )
            if withAddress(path, { connect(socket, $0, $1) }) != 0, errno == ECONNREFUSED {
                isFound = Foundation.unlink(path) == 0
            }
            if socket >= 0 { close(socket) }
        }
        return isFound
    }

    /// Calls `body` with the address of a socket file; returns -1 with ENAMETOOLONG for a path of more than 107 bytes.
    static func withAddress<Result: BinaryInteger>(
        _ path: String,
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let isFitting = withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            guard path.utf8.count < bytes.count else { return false }
            bytes.copyBytes(from: path.utf8)
            return true
        }
        guard isFitting else {
            errno = ENAMETOOLONG
            return -1
        }
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
