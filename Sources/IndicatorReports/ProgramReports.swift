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
    /// What the environment of the programs needs: the variable `INDICATOR_SOCKET`.
    public let environment: [String: String]

    private let receiver: Receiver

    /// Listens for reports on an activity.
    ///
    /// - Throws: if no socket can be made, such as on full disks. The text says why. The programs then find no
    ///   variable, and report nothing.
    public convenience init(on activity: ManagedActivity) throws {
        self.init(on: activity, socket: try ReportSocket())
    }

    /// - Parameter socket: where the programs' reports may wait already.
    package init(on activity: ManagedActivity, socket: ReportSocket) {
        environment = [ReportSocket.variable: socket.path]
        receiver = Receiver(socket, ReportedWork(activity))
        socket.raiseSignal(false)
        socket.removeLeftovers()
        // Without a descriptor for that, the reports are read at the end.
        ServiceThread.shared.call(at: .min) { [receiver] in _ = ServiceThread.shared.add(receiver) }
    }

    deinit { end() }

    /// How many reports were about members beyond the limit of 64, and are not shown. A member may have several.
    public var omittedCount: Int { receiver.work.withLock(\.omittedCount) }

    /// Reads what has been reported, ends everything, and listens no more. Call it when the programs have ended.
    ///
    /// - Parameter outcome: how the activity ends, or the one that a report has begun after it; without effect if a
    ///   report has ended it.
    public func end(_ outcome: ActivityOutcome = .unspecified) { receiver.end(outcome) }
}

/// Reads the reports, on the thread of the timers.
private final class Receiver: PollSource, Sendable {
    /// How many reports are read before other work of the thread has its turn.
    private static var turnLimit: Int { 64 }

    private let socket: ReportSocket
    /// Its lock also keeps the order: a datagram is received and applied with the lock held. Activities have no code of
    /// the app.
    let work: Locked<ReportedWork>

    init(_ socket: ReportSocket, _ work: ReportedWork) {
        self.socket = socket
        self.work = Locked(work)
    }

    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        ([pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)], nil)
    }

    func turn(_ descriptors: [pollfd]) { read(limit: Self.turnLimit) }

    /// Makes room in the queue, which is short, before it applies what was in it.
    private func read(limit: Int) {
        work.withLock { work in
            var datagrams: [[UInt8]] = []
            while datagrams.count < limit, let datagram = socket.receive() { datagrams.append(datagram) }
            for report in datagrams.lazy.flatMap({ ProgramReport.all(in: $0) }) { work.apply(report) }
        }
    }

    func end(_ outcome: ActivityOutcome) {
        // Then no more can come, so that this ends.
        socket.unlink()
        read(limit: .max)
        ServiceThread.shared.call(at: .min) { ServiceThread.shared.remove(self) }
        work.withLock { $0.end(outcome) }
    }
}
