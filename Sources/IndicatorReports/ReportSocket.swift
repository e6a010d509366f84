import DisplayText
import Foundation
import IndicatorThreads

/// A datagram socket to which programs report their work.
///
/// It is in a folder of its own, which only the user has, below `$XDG_RUNTIME_DIR/indicator`. Where that is not the
/// user's, cannot be written, or has too long a path, the folder is in `/tmp`. A path survives what an inherited
/// descriptor does not: sudo(8), a shell in tmux(1), Python's `subprocess`.
package final class ReportSocket: Sendable {
    /// Why there is no socket.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The variable with the path, which the programs inherit.
    package static var variable: String { "INDICATOR_SOCKET" }

    /// The name in the folder.
    private static var name: String { "/reports" }

    package let path: String
    /// It is closed when the socket is released, which is after its thread has removed it.
    let descriptor: CInt

    /// Makes a socket.
    ///
    /// - Parameters:
    ///   - runtime: the user's folder for sockets.
    ///   - other: the folder of all users that is used without it.
    package init(
        in runtime: String? = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) },
        or other: String = "/tmp"
    ) throws(Failure) {
        func failure(_ place: String) -> Failure {
            Failure(description: "cannot make a socket for reports\(place): \(String(cString: strerror(errno)))")
        }
        let socket = UnixSocket.make(SOCK_DGRAM)
        guard socket >= 0 else { throw failure("") }
        let path = runtime.flatMap { Self.ownFolder(in: $0) }.flatMap { Self.bind(socket, "\($0)/") }
        guard let path = path ?? Self.bind(socket, "\(other)/indicator-") else {
            defer { close(socket) }
            throw failure(" in '\(other)'")
        }
        (descriptor, self.path) = (socket, path)
    }

    deinit { close(descriptor) }

    /// The folder for sockets in a runtime folder; `nil` if that is not the user's: under `sudo -E`, that of another
    /// user would get a folder that is not theirs.
    private static func ownFolder(in runtime: String) -> String? {
        guard runtime.hasPrefix("/"), isOwn(runtime, allowing: 0o055) else { return nil }
        let folder = "\(runtime)/indicator"
        mkdir(folder, 0o700)
        return isOwn(folder) ? folder : nil
    }

    /// Whether a folder, and no link to one, belongs to the user alone.
    private static func isOwn(_ path: String, allowing mode: mode_t = 0) -> Bool {
        var info = stat()
        return lstat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFDIR && info.st_uid == geteuid()
            && info.st_mode & 0o077 & ~mode == 0
    }

    /// Binds a socket in a new folder, whose path has a prefix.
    ///
    /// - Returns: the path of the socket; `nil`, with the reason in `errno`, if there is none.
    private static func bind(_ socket: CInt, _ prefix: String) -> String? {
        var template = Array("\(prefix)XXXXXX".utf8CString)
        let folder = template.withUnsafeMutableBufferPointer { template in
            template.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let folder else { return nil }
        if UnixSocket.withAddress(folder + name, { Foundation.bind(socket, $0, $1) }) == 0 { return folder + name }
        let reason = errno
        rmdir(folder)
        errno = reason
        return nil
    }

    /// Removes what killed processes have left beside it: a socket that no process has refuses a connection.
    func removeLeftovers() {
        let socket = UnixSocket.make(SOCK_DGRAM)
        defer { if socket >= 0 { close(socket) } }
        var found = glob_t()
        defer { globfree(&found) }
        // mkdtemp(3) has replaced six characters.
        glob("\(path.dropLast(Self.name.count + 6))*\(Self.name)", GLOB_NOSORT, nil, &found)
        for path in (0..<Int(found.gl_pathc)).compactMap({ found.gl_pathv[$0].map { String(cString: $0) } }) {
            var info = stat()
            guard Self.isOwn(Self.folder(of: path)), lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFSOCK,
                UnixSocket.withAddress(path, { connect(socket, $0, $1) }) != 0, errno == ECONNREFUSED
            else { continue }
            Self.remove(path)
        }
    }

    private static func folder(of path: String) -> String { String(path.dropLast(name.count)) }

    private static func remove(_ path: String) {
        Foundation.unlink(path)
        rmdir(folder(of: path))
    }

    /// Removes the socket's path, with its folder.
    package func unlink() {
        Self.remove(path)
        // Nor may those that have found it send more. What waits is still read.
        shutdown(descriptor, Int32(SHUT_RD))
    }

    /// Whether a datagram waits.
    package var hasReports: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) >= 0
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

    /// Sends a datagram, without waiting: the queue of a socket is short.
    ///
    /// - Returns: whether it has arrived.
    @discardableResult
    package static func send(_ text: String, to path: String) -> Bool {
        let socket = UnixSocket.make(SOCK_DGRAM)
        defer { if socket >= 0 { close(socket) } }
        var text = text
        return text.withUTF8 { bytes in
            UnixSocket.withAddress(path) {
                sendto(socket, bytes.baseAddress, bytes.count, CInt(MSG_NOSIGNAL), $0, $1)
            } >= 0
        }
    }
}
