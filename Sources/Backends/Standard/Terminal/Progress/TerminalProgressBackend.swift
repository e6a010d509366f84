import BackendConfiguration
public import IndicatorCore
public import Foundation

/// Shows activities on standard error, with bars: one line for each activity with a label, redrawn in place while the
/// indicator is shown, then removed.
///
/// ```text
/// debian-13.iso   ━━━━━━━━━╸──────────────  16.2 of 40.0 MB  1.3 MB/s  0:12  0:18 left
/// Packages.gz     ━━━━━━━━━━━━━━━━━━━━━━╸─    3.9 of 4.1 MB  0.9 MB/s  0:04  0:01 left
/// and 3 more
/// ```
///
/// The cursor stays above the lines, where the app and the user continue to write. There are at most ten frames a
/// second, and none while the indicator is hidden; a frame is one write with the changes. Nothing is drawn while the
/// process is in the background of its terminal, or while another program has that in its own mode. The lines are
/// removed when the indicator is hidden, the backend is stopped or the process exits. For signals that end or stop the
/// process, see `IndicatorManager.configured(for:)`. An activity that ends leaves a line
/// (``TerminalProgressSettings/finished``).
///
/// Where lines cannot be redrawn, and in CI, it writes plain lines instead; under `indicator exec` none, unless the
/// mode is `plain`. The article "Live progress" has the details.
public final class TerminalProgressBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    /// The latest snapshot; while visible, ten times a second for lines that are redrawn, once a second for plain ones.
    /// Includes changes while the indicator is hidden if ends are reported: an activity may fail then.
    public let delivery: BackendDelivery

    /// The time between two frames.
    static let frameInterval: Duration = .milliseconds(100)
    /// The time between two changes of the numbers, which cost more bytes than the spinner.
    static let contentInterval: Duration = .milliseconds(300)
    /// The longest time between two frames that are drawn completely.
    static let completeInterval: Duration = .seconds(2)
    /// The bytes per second for complete frames: few and short lines are complete again sooner after other output.
    static let completeBytesPerSecond = 150.0

    /// How the indicator is shown.
    package enum Display: Sendable, Hashable {
        case live, plain, off
    }

    /// The lines that are redrawn in place.
    private struct Lines {
        let terminal: SharedTerminal
        /// The content of the lines until ``contentDue``.
        var content: (snapshot: IndicatorSnapshot, date: Date)?
        var contentDue: Duration = .zero
        /// The times left of the activities, and since when they are those of the snapshots.
        var estimates: [UInt64: (remaining: Duration, since: Date)] = [:]
        var frameDue: Duration = .zero
        var completeDue: Duration = .zero
        var frame = 0
        /// The activities to report above the lines.
        var finished = FinishedActivities()

        /// A snapshot whose times left count down between the steps of the work.
        mutating func countingDown(_ snapshot: IndicatorSnapshot, at date: Date) -> IndicatorSnapshot {
            let (earlier, activities) = (exchange(&estimates, with: [:]), snapshot.activities)
            var snapshot = snapshot
            for (index, activity) in activities.enumerated() {
                guard let remaining = activity.remaining else { continue }
                let since = earlier[activity.id].flatMap { $0.remaining == remaining ? $0.since : nil } ?? date
                estimates[activity.id] = (remaining, since)
                let passed = max(date.timeIntervalSince(since), 0)
                snapshot.activities[index].remaining = max(remaining - .seconds(passed), .zero)
            }
            return snapshot
        }
    }

    private let settings: TerminalProgressSettings
    private let layout: ProgressLines
    private let display: Display
    private let descriptor: CInt
    private let environment: [String: String]
    private let time: TimeSource
    private let date: @Sendable () -> Date

    /// Makes a backend. Writes nothing.
    ///
    /// - Parameters:
    ///   - name: the name that the diagnostics use.
    ///   - applicationName: the name of the app, shown if no activity has a label.
    ///   - settings: how the indicator is shown.
    ///   - descriptor: where lines are written. Not closed. By default, standard error.
    ///   - environment: the environment variables: of the terminal, the locale, CI and colors (`NO_COLOR`).
    ///   - clock: measures the times between frames.
    ///   - date: returns the wall-clock time, for the times of activities.
    public init(
        name: String = "terminalProgress",
        applicationName: String,
        settings: TerminalProgressSettings = TerminalProgressSettings(),
        descriptor: CInt = STDERR_FILENO,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        clock: any Clock<Duration> = SuspendingClock(),
        date: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.name = name
        self.settings = settings
        self.descriptor = descriptor
        self.environment = environment
        self.date = date
        time = TimeSource.reading(clock)
        display = Self.display(settings, descriptor: descriptor, environment: environment)
        let look = TextLook(
            environment: environment,
            isTerminal: (isatty(descriptor) == 1 || display == .live) && display != .plain
        )
        layout = ProgressLines(
            look: look,
            applicationName: look.shown(SafeText.singleLine(applicationName)),
            maxLines: settings.maxLines,
            template: settings.template
        )
        delivery = BackendDelivery(
            includesHidden: settings.finished != .none && display != .off,
            animationInterval: display == .live ? Self.frameInterval : display == .plain ? .seconds(1) : nil,
            updateTimeLimit: TerminalDevice.updateTimeLimit
        )
    }

    /// How the indicator is shown on a descriptor with these settings.
    package static func display(
        _ settings: TerminalProgressSettings,
        descriptor: CInt,
        environment: [String: String]
    ) -> Display {
        let hasCommand = CommandOnTerminal.isPresent
        // Lines of ours within the output of a command might be read by a program.
        let otherwise = hasCommand || settings.mode == .terminal ? Display.off : .plain
        switch settings.mode {
        case .off: return .off
        case .plain: return .plain
        case .auto, .terminal, .live:
            let isLog = KnownTerminal.isLog(in: environment) && settings.mode != .live
            let isTerminal = hasCommand ? CommandOnTerminal.writesElsewhere : isatty(descriptor) == 1
            guard !isLog, isTerminal, !["", "dumb"].contains(environment["TERM"] ?? "") else { return otherwise }
            let size = hasCommand ? TerminalDevice.controlling?.size : TerminalDevice.size(of: descriptor)
            return size?.isKnown == true && !settings.accessible ? .live : hasCommand ? .off : .plain
        }
    }

    /// Draws frames or writes lines, and waits while the terminal accepts no bytes. At the end, removes the lines, and
    /// writes pending reports.
    ///
    /// - Throws: if lines are redrawn in place, and the terminal cannot be opened or was closed.
    public func show(_ updates: IndicatorUpdates) async throws {
        switch display {
        case .off: for await _ in updates {}
        case .plain: await report(updates)
        case .live: try await draw(updates)
        }
    }

    /// Opens the terminal that a descriptor refers to, or with a command, the controlling one.
    static func openTerminal(_ descriptor: CInt, _ environment: [String: String]) throws(TerminalError)
        -> SharedTerminal
    {
        try TerminalRegistry.open(
            path: CommandOnTerminal.isPresent
                ? TerminalDevice.controllingTerminal : TerminalDevice.path(of: descriptor),
            environment: environment
        )
    }

    private func report(_ updates: IndicatorUpdates) async {
        var report = ProgressReport(settings: settings, look: layout.look)
        func write(_ line: String?) {
            if let line { TerminalOutput.write(Array(line.utf8), to: descriptor) }
        }
        var shownSince: Date?
        for await update in updates {
            let finished = Self.finished(of: update, &shownSince)
            let (snapshot, omitted) = (update.snapshot, update.omittedFinished)
            write(report.line(for: snapshot, finished: finished, omitted: omitted, date: date(), at: time.now))
        }
        write(report.takeLine(at: time.now))
    }

    /// The finished activities to consider: those that failed, and others that ended while the indicator was shown.
    ///
    /// - Parameter shownSince: the wall-clock time when the indicator was shown; `nil` while it is hidden.
    private static func finished(of update: IndicatorUpdate, _ shownSince: inout Date?) -> [FinishedActivity] {
        let snapshot = update.snapshot
        if snapshot.isVisible, shownSince == nil { shownSince = snapshot.since }
        let since = shownSince ?? .distantFuture
        if !snapshot.isVisible { shownSince = nil }
        return update.finished.filter { $0.outcome.isFailure || $0.date >= since }
    }

    private func draw(_ updates: IndicatorUpdates) async throws {
        let terminal = try Self.openTerminal(descriptor, environment)
        defer {
            terminal.change { $0.lines.hide(ObjectIdentifier(self)) }
            try? terminal.settleOrContinue()
        }
        var lines = Lines(terminal: terminal)
        var shownSince: Date?
        for await update in updates {
            let snapshot = update.snapshot
            let wanted = Self.finished(of: update, &shownSince).filter { settings.finished.includes($0, in: snapshot) }
            // The outcomes of omitted activities are unknown: they are counted if any of the listed ones is wanted.
            lines.finished.append(FinishedActivities(latest: wanted, omittedCount: update.omittedFinished))
            if snapshot.isVisible {
                draw(snapshot, &lines)
            } else {
                writeFinished(&lines)
                (lines.content, lines.frameDue) = (nil, .zero)
                terminal.change { $0.lines.hide(ObjectIdentifier(self)) }
            }
            try terminal.settle()
        }
    }

    private func draw(_ snapshot: IndicatorSnapshot, _ shown: inout Lines) {
        let (terminal, now, date) = (shown.terminal, time.now, date())
        let isFirst = shown.content == nil
        // Timers are not exact to the millisecond; on average there are ten frames a second.
        guard isFirst || now >= shown.frameDue - .milliseconds(20) else { return }
        shown.frameDue = max(shown.frameDue, now - Self.frameInterval) + Self.frameInterval
        shown.frame += 1
        // During the completion delay, the last content stays.
        let hasChanged = shown.content?.snapshot.activities.map(\.id) != snapshot.activities.map(\.id)
        if isFirst || snapshot.activityCount > 0, hasChanged || now >= shown.contentDue {
            shown.content = (shown.countingDown(snapshot, at: date), date)
            shown.contentDue = now + Self.contentInterval
        }
        // When the program that started this one has ended, the terminal belongs to the shell.
        guard terminal.device.isInForeground else { return terminal.change { $0.lines.hide(ObjectIdentifier(self)) } }
        guard terminal.device.isInLineMode else { return terminal.change { $0.lines.cover() } }
        // The line of the last activity replaces its bar, and is not above it: when the indicator is hidden.
        if snapshot.activityCount > 0 { writeFinished(&shown) }
        let size = terminal.device.size
        guard let content = shown.content else { return }
        let lines = layout.lines(
            for: content.snapshot,
            width: size.columns,
            // One row is for the cursor.
            height: size.rows - 1,
            now: content.date,
            frame: shown.frame
        )
        let isComplete = now >= shown.completeDue
        if isComplete {
            let count = lines.reduce(0) { $0 + $1.changes(from: nil).utf8.count }
            let interval = Duration.seconds(Double(count) / Self.completeBytesPerSecond)
            shown.completeDue = now + min(interval, Self.completeInterval)
        }
        terminal.change { $0.lines.show(ObjectIdentifier(self), lines, size: size, anew: isComplete) }
    }

    private func writeFinished(_ shown: inout Lines) {
        let terminal = shown.terminal
        guard !shown.finished.isEmpty, terminal.device.isInForeground, terminal.device.isInLineMode else { return }
        let finished = shown.finished.takeAll()
        var lines = finished.latest.map(layout.line)
        if finished.omittedCount > 0 {
            lines.append("and \(finished.omittedCount) more \(finished.omittedCount == 1 ? "has" : "have") ended")
        }
        let size = terminal.device.size
        terminal.change { $0.lines.writeLines(lines, columns: size.columns) }
    }
}
