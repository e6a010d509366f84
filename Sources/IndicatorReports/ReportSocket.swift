import IndicatorCore
import Foundation

/// A datagram socket to which programs report their work.
///
/// It is in `$XDG_RUNTIME_DIR/indicator`, which only the user has. Where that is not the user's, cannot be written, or
/// has too long a path, it is in a folder of its own in `/tmp`. A path survives what an inherited descriptor does not:
/// sudo(8), a shell in tmux(1), Python's `subprocess`.
package final class ReportSocket: Sendable {
    /// Why there is no socket.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The variable with the path, which the programs inherit.
    package static var variable: String { "INDICATOR_SOCKET" }

    package let path: String
    /// The paths of all sockets that are made in the same place, as a pattern of glob(3).
    private let pattern: String
    private let hasOwnFolder: Bool
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
        let own = runtime.flatMap { Self.ownFolder(in: $0) }
        let name = String(UInt64.random(in: 0...UInt64.max), radix: 36)
        if let own, let path = Self.bind(socket, to: "\(own)/\(name)") {
            (descriptor, self.path, pattern, hasOwnFolder) = (socket, path, "\(own)/*", false)
            return
        }
        var template = Array("\(other)/indicator-XXXXXX".utf8CString)
        let folder = mkdtemp(&template).map { String(cString: $0) }
        guard let path = folder.flatMap({ Self.bind(socket, to: "\($0)/reports") }) else {
            let failure = failure(" in '\(other)'")
            if let folder { rmdir(folder) }
            close(socket)
            throw failure
        }
        (descriptor, self.path, pattern, hasOwnFolder) = (socket, path, "\(other)/indicator-*/reports", true)
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

    /// Binds a socket to a path; `nil`, with the reason in `errno`, if that cannot be done.
    private static func bind(_ socket: CInt, to path: String) -> String? {
        UnixSocket.withAddress(path) { Foundation.bind(socket, $0, $1) } == 0 ? path : nil
    }

    /// Removes what killed processes have left beside it: a socket that no process has refuses a connection.
    func removeLeftovers() {
        let socket = UnixSocket.make(SOCK_DGRAM)
        defer { if socket >= 0 { close(socket) } }
        var found = glob_t()
        defer { globfree(&found) }
        glob(pattern, GLOB_NOSORT, nil, &found)
        for path in (0..<Int(found.gl_pathc)).compactMap({ found.gl_pathv[$0].map { String(cString: $0) } }) {
            var info = stat()
            guard Self.isOwn(Self.folder(of: path)), lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFSOCK,
                UnixSocket.withAddress(path, { connect(socket, $0, $1) }) != 0, errno == ECONNREFUSED
            else { continue }
            Foundation.unlink(path)
            if hasOwnFolder { rmdir(Self.folder(of: path)) }
        }
    }

    private static func folder(of path: String) -> String { (path as NSString).deletingLastPathComponent }

    /// Removes the socket's path, with its folder in `/tmp`.
    package func unlink() {
        Foundation.unlink(path)
        if hasOwnFolder { rmdir(Self.folder(of: path)) }
        // Nor may those that have found it send more. What waits is still read.
        shutdown(descriptor, Int32(SHUT_RD))
    }

    /// Sets whether this process gets a SIGIO when a datagram arrives.
    package func raiseSignal(_ isOn: Bool) {
        if isOn { _ = fcntl(descriptor, F_SETOWN, getpid()) }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK | (isOn ? O_ASYNC : 0))
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
