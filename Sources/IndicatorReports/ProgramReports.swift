public import IndicatorCore

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
    public var environment: [String: String] { [ReportSocket.variable: socket.path] }

    private let socket: ReportSocket

    /// Listens for reports on an activity.
    ///
    /// - Throws: if no socket can be made, such as on full disks. The text says why. The programs then find no
    ///   variable, and report nothing.
    public convenience init(on activity: ManagedActivity) throws {
        self.init(on: activity, socket: try ReportSocket())
    }

    /// - Parameter socket: where the programs' reports may wait already.
    package init(on activity: ManagedActivity, socket: ReportSocket) {
        self.socket = socket
        socket.listen(on: activity)
    }

    deinit { end() }

    /// How many reports were about members beyond the limit of 64, and are not shown. A member may have several.
    public var omittedCount: Int { socket.work.withLock { $0?.omittedCount ?? 0 } }

    /// Reads what has been reported, ends everything, and listens no more. Call it when the programs have ended.
    ///
    /// - Parameter outcome: how the activity ends, or the one that a report has begun after it; without effect if a
    ///   report has ended it.
    public func end(_ outcome: ActivityOutcome = .unspecified) { socket.end(outcome) }
}
