public import IndicatorCore
import Foundation

/// Lets the programs that an app starts report their work, in any language: the label, the progress, that they wait for
/// the user, and how it ended.
///
/// ```swift
/// let activity = ManagedActivity("Exporting", in: indicator)
/// let reports = try ProgramReports(on: activity)
/// process.environment = ProcessInfo.processInfo.environment.merging(reports.environment) { $1 }
/// try process.run()
/// process.waitUntilExit()
/// reports.end(process.terminationStatus == 0 ? .succeeded : .failed("exit status \(process.terminationStatus)"))
/// ```
///
/// What a program reports of itself changes the activity. What it reports of a part of its work is a member of the
/// activity, of which at most 64 are in progress at the same time. When a program reports that its work is done or has
/// failed, the activity ends with that outcome, although the program goes on; its next report of work begins another
/// one. The article <doc:ReportingFromAnyLanguage> describes what the programs send.
///
/// Nothing that is reported can run, cancel, configure or read anything. The reports are read on the thread
/// of the indicator's timers, which wakes up for them. Any thread may use the value.
public final class ProgramReports: Sendable {
    /// Why there is no socket.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The variable with the socket's path, which the programs inherit.
    package static var variable: String { "INDICATOR_SOCKET" }
    /// What the names of the folders begin with: `/tmp` may have very many others.
    private static var prefix: String { "indicator-" }

    /// What the environment of the programs needs: the variable `INDICATOR_SOCKET`.
    public var environment: [String: String] { [Self.variable: path] }

    /// The folder of the socket alone. A path survives what an inherited descriptor does not: sudo(8), a shell in
    /// tmux(1), Python's `subprocess`.
    private let folder: String
    package var path: String { Self.path(in: folder) }
    let socket: ReportSocket

    /// Listens for reports on an activity.
    ///
    /// - Throws: if no socket can be made, such as on full disks. The text says why. The programs then find no
    ///   variable, and report nothing.
    public convenience init(on activity: ManagedActivity) throws {
        try self.init()
        listen(on: activity)
    }

    /// Makes a socket, where reports wait for ``listen(on:)``, in a folder of its own that only the user has.
    ///
    /// - Parameters:
    ///   - runtime: the user's folder for sockets, in which that is in `indicator`.
    ///   - other: the folder of all users, for where that is not the user's, cannot be written, or has too long a path.
    package init(
        in runtime: String? = getenv("XDG_RUNTIME_DIR").map { String(cString: $0) },
        or other: String = "/tmp"
    ) throws(Failure) {
        var (info, places): (stat, [String]) = (stat(), [other])
        // Under `sudo -E`, it is that of another user, who would get a folder that is not theirs.
        if let runtime, runtime.hasPrefix("/"), stat(runtime, &info) == 0, info.st_uid == geteuid(),
            info.st_mode & 0o022 == 0
        {
            mkdir("\(runtime)/indicator", 0o700)
            places.insert("\(runtime)/indicator", at: 0)
        }
        socket = ReportSocket()
        for place in places where socket.descriptor >= 0 {
            var template = Array("\(place)/\(Self.prefix)XXXXXX".utf8CString)
            guard let folder = mkdtemp(&template).map({ String(cString: $0) }) else { continue }
            if UnixSocket.withAddress(Self.path(in: folder), { [socket] in bind(socket.descriptor, $0, $1) }) == 0 {
                self.folder = folder
                return
            }
            rmdir(folder)
        }
        let reason = String(cString: strerror(errno))
        throw Failure(description: "cannot make a socket for reports in '\(other)': \(reason)")
    }

    deinit { end() }

    /// Sets whether this process gets a SIGIO when a report arrives.
    package func raiseSignal(_ isOn: Bool) {
        _ = fcntl(socket.descriptor, F_SETOWN, getpid())
        _ = fcntl(socket.descriptor, F_SETFL, O_NONBLOCK | (isOn ? O_ASYNC : 0))
    }

    /// Whether a report waits.
    package var hasReports: Bool {
        var byte: UInt8 = 0
        return recv(socket.descriptor, &byte, 1, Int32(MSG_PEEK)) >= 0
    }

    /// Applies the reports to an activity, on the thread of the timers, until ``end(_:)``.
    package func listen(on activity: ManagedActivity) {
        socket.work.withLock { $0 = ReportedWork(activity) }
        raiseSignal(false)
        removeLeftovers()
        // Without a descriptor for that, the reports are read at the end.
        ServiceThread.shared.call(at: .min) { [socket] in _ = ServiceThread.shared.add(socket) }
    }

    /// How many reports were about members beyond the limit of 64, and are not shown. A member may have several.
    public var omittedCount: Int { socket.work.withLock { $0?.omittedCount ?? 0 } }

    /// Reads what has been reported, ends everything, and listens no more. Call it when the programs have ended.
    ///
    /// - Parameter outcome: how the activity ends, or the one that a report has begun after it; without effect if a
    ///   report has ended it.
    public func end(_ outcome: ActivityOutcome = .unspecified) {
        Self.remove(folder)
        // Nor may those that have found the socket send more, so that the reading ends.
        shutdown(socket.descriptor, Int32(SHUT_RD))
        socket.read(limit: .max)
        guard socket.work.withLock({ $0?.end(outcome) }) != nil else { return }
        ServiceThread.shared.call(at: .min) { [socket] in ServiceThread.shared.remove(socket) }
    }

    private static func path(in folder: String) -> String { "\(folder)/indicator-reports" }

    private static func remove(_ folder: String) {
        unlink(path(in: folder))
        rmdir(folder)
    }

    /// Removes what killed processes have left beside it: a socket that no process has refuses a connection. A folder
    /// without a socket stays, because another process may be about to make it there.
    func removeLeftovers() {
        let socket = UnixSocket.make(SOCK_DGRAM)
        defer { close(socket) }
        let place = (folder as NSString).deletingLastPathComponent
        let names = try? FileManager.default.contentsOfDirectory(atPath: place)
        for name in names ?? [] where name.hasPrefix(Self.prefix) {
            let left = "\(place)/\(name)"
            let result = UnixSocket.withAddress(Self.path(in: left)) { connect(socket, $0, $1) }
            if result != 0, errno == ECONNREFUSED { Self.remove(left) }
        }
    }

    /// Sends a report to a socket's path, without waiting: its queue is short.
    ///
    /// - Returns: whether it has arrived.
    @discardableResult
    package static func send(_ text: String, to path: String) -> Bool {
        let socket = UnixSocket.make(SOCK_DGRAM)
        defer { close(socket) }
        return UnixSocket.withAddress(path) { sendto(socket, text, text.utf8.count, CInt(MSG_NOSIGNAL), $0, $1) } >= 0
    }
}

/// The socket, which its thread keeps until the end.
final class ReportSocket: PollSource, Sendable {
    /// Negative, with the reason in `errno`, if there is none.
    let descriptor = UnixSocket.make(SOCK_DGRAM)
    /// What the reports change. Its lock also keeps the order: a datagram is received and applied with the lock held.
    /// Activities have no code of the app.
    let work = Locked<ReportedWork?>(nil)

    deinit { close(descriptor) }

    package func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        ([pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)], nil)
    }

    /// After 64 reports, other work of the thread has its turn.
    package func turn(_ descriptors: [pollfd]) { read(limit: 64) }

    /// Applies the reports that wait. Descriptors that come with them are closed, because no room is offered for them
    /// (unix(7)). A datagram that is too long is ignored.
    func read(limit: Int) {
        let size = ProgramStatus.sequenceLimit + 1
        work.withLock { work in
            var datagrams: [[UInt8]] = []
            // Before they are applied: a program that waits for room in the queue is then woken once for all of them.
            withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
                for _ in 0..<limit {
                    let count = recv(descriptor, buffer.baseAddress, size, 0)
                    if count < 0 { break }
                    if count < size { datagrams.append(Array(buffer.prefix(count))) }
                }
            }
            for datagram in datagrams { work?.apply(datagram) }
        }
    }
}
