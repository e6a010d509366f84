import IndicatorCore
package import Foundation

/// A datagram socket to which programs report their work.
///
/// It is in a folder of its own, which only the user has: in `$XDG_RUNTIME_DIR/indicator`, or, where that is not the
/// user's, cannot be written, or has too long a path, in `/tmp`. A path survives what an inherited descriptor does not:
/// sudo(8), a shell in tmux(1), Python's `subprocess`.
package final class ReportSocket: PollSource, Sendable {
    /// Why there is no socket.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The variable with the path, which the programs inherit.
    package static var variable: String { "INDICATOR_SOCKET" }
    /// What the names of the folders begin with: `/tmp` may have very many others.
    private static var prefix: String { "indicator-" }
    /// How many reports are read before other work of the thread has its turn.
    private static var turnLimit: Int { 64 }

    private let folder: String
    /// It is closed when the socket is released, which is after its thread has removed it.
    private let descriptor: CInt
    /// What the reports change, from ``listen(on:)``. Its lock also keeps the order: a datagram is received and applied
    /// with the lock held. Activities have no code of the app.
    let work = Locked<ReportedWork?>(nil)

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
        descriptor = UnixSocket.make(SOCK_DGRAM)
        guard descriptor >= 0 else { throw failure("") }
        var (info, own): (stat, String?) = (stat(), nil)
        // Under `sudo -E`, it is that of another user, who would get a folder that is not theirs.
        if let runtime, runtime.hasPrefix("/"), stat(runtime, &info) == 0, info.st_uid == geteuid(),
            info.st_mode & 0o022 == 0
        {
            mkdir("\(runtime)/indicator", 0o700)
            own = Self.bind(descriptor, in: "\(runtime)/indicator")
        }
        guard let folder = own ?? Self.bind(descriptor, in: other) else {
            let failure = failure(" in '\(other)'")
            close(descriptor)
            throw failure
        }
        self.folder = folder
    }

    deinit { close(descriptor) }

    /// Binds a socket in a new folder, and returns that; `nil`, with the reason in `errno`, if that cannot be done.
    private static func bind(_ socket: CInt, in place: String) -> String? {
        var template = Array("\(place)/\(prefix)XXXXXX".utf8CString)
        guard let folder = mkdtemp(&template).map({ String(cString: $0) }) else { return nil }
        if UnixSocket.withAddress(path(in: folder), { Foundation.bind(socket, $0, $1) }) == 0 { return folder }
        rmdir(folder)
        return nil
    }

    package var path: String { Self.path(in: folder) }

    private static func path(in folder: String) -> String { "\(folder)/indicator-reports" }

    private static func remove(_ folder: String) {
        Foundation.unlink(path(in: folder))
        rmdir(folder)
    }

    /// Removes the socket's path.
    package func unlink() {
        Self.remove(folder)
        // Nor may those that have found it send more. What waits is still read.
        shutdown(descriptor, Int32(SHUT_RD))
    }

    /// Removes what killed processes have left beside it: a socket that no process has refuses a connection.
    func removeLeftovers() {
        let socket = UnixSocket.make(SOCK_DGRAM)
        defer { close(socket) }
        let place = (folder as NSString).deletingLastPathComponent
        let names = try? FileManager.default.contentsOfDirectory(atPath: place)
        for name in names ?? [] where name.hasPrefix(Self.prefix) {
            let path = Self.path(in: "\(place)/\(name)")
            var info = stat()
            guard lstat(path, &info) == 0, info.st_mode & S_IFMT == S_IFSOCK,
                UnixSocket.withAddress(path, { connect(socket, $0, $1) }) != 0, errno == ECONNREFUSED
            else { continue }
            Self.remove("\(place)/\(name)")
        }
    }

    /// Sends a datagram, without waiting: the queue of a socket is short.
    ///
    /// - Returns: whether it has arrived.
    @discardableResult
    package static func send(_ text: String, to path: String) -> Bool {
        let socket = UnixSocket.make(SOCK_DGRAM)
        defer { close(socket) }
        return UnixSocket.withAddress(path) { sendto(socket, text, text.utf8.count, CInt(MSG_NOSIGNAL), $0, $1) } >= 0
    }

    // MARK: - Listening

    /// Sets whether this process gets a SIGIO when a datagram arrives.
    package func raiseSignal(_ isOn: Bool) {
        _ = fcntl(descriptor, F_SETOWN, getpid())
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK | (isOn ? O_ASYNC : 0))
    }

    /// Whether a datagram waits.
    package var hasReports: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_PEEK)) >= 0
    }

    /// Applies the reports to an activity, on the thread of the timers, until ``end(_:)``.
    func listen(on activity: ManagedActivity) {
        work.withLock { $0 = ReportedWork(activity) }
        raiseSignal(false)
        removeLeftovers()
        // Without a descriptor for that, the reports are read at the end.
        ServiceThread.shared.call(at: .min) { _ = ServiceThread.shared.add(self) }
    }

    /// Applies what has been reported, ends everything, and listens no more.
    func end(_ outcome: ActivityOutcome) {
        // Then no more can come, so that this ends.
        unlink()
        read(limit: .max)
        ServiceThread.shared.call(at: .min) { ServiceThread.shared.remove(self) }
        work.withLock { $0?.end(outcome) }
    }

    package func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        ([pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)], nil)
    }

    package func turn(_ descriptors: [pollfd]) { read(limit: Self.turnLimit) }

    /// Makes room in the queue, which is short, before it applies what was in it.
    private func read(limit: Int) {
        work.withLock { work in
            var datagrams: [[UInt8]] = []
            while datagrams.count < limit, let datagram = receive() { datagrams.append(datagram) }
            for datagram in datagrams { work?.apply(datagram) }
        }
    }

    /// The next datagram; `nil` if none waits. Descriptors that come with it are closed, because no room is offered for
    /// them (unix(7)). One that is too long is empty.
    func receive() -> [UInt8]? {
        let limit = ProgramStatus.sequenceLimit
        var count = 0
        let datagram = [UInt8](unsafeUninitializedCapacity: limit) { buffer, length in
            count = recv(descriptor, buffer.baseAddress, limit, Int32(MSG_TRUNC))
            length = (0...limit).contains(count) ? count : 0
        }
        return count < 0 ? nil : datagram
    }
}
