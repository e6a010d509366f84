import BackendConfiguration
public import IndicatorCore
public import Foundation

/// Shows the indicator in the title of the terminal that the app runs in, and restores the original title.
///
/// It writes only to the controlling terminal of the process, even if the standard streams are redirected. While the
/// indicator is hidden, it writes nothing.
///
/// - When the indicator is shown, the title is saved on the terminal's stack (XTWINOPS 22). It is restored from there
///   (XTWINOPS 23) when the indicator is hidden, the backend is stopped, or the process exits by returning from `main`
///   or calling `exit`. For signals that end or stop the process, see `IndicatorManager.configured(for:)`. A terminal
///   that accepts no bytes at exit (Ctrl-S) keeps the title: the process does not wait for it.
/// - After SIGKILL or a crash, the title remains until the shell or another program sets it.
/// - If the terminal may have no stack, the title is also emptied; most terminals then show their own.
/// - A terminal that is not known to have a title, or that would lose its own, keeps it, unless
///   ``TerminalTitleSettings/title`` is `on`: Emacs, Konsole, QTerminal, urxvt, st, GNU screen, mosh, and unknown
///   types (`TERM`).
/// - Terminals that are known to support it (OSC 9;4) also show the progress, in the tab or the taskbar.
/// - To terminals that are known to show it, the indicator and its activities are reported by the Program Status
///   Protocol (OSC 7501), each as a record of its own: working, waiting for the user, or how it ended. The records are
///   cleared with the title. A success or failure of the work then stays as one record, as the protocol has it: until
///   the user has seen it, or more work is shown.
/// - Several backends of one process can use one terminal: the one that was shown last sets the title.
/// - Titles are written without control characters, truncated to 240 Unicode scalars, and in UTF-8 if that is the
///   character set of the locale; otherwise, and in GNU screen, in ASCII.
///
/// The title is also set while the app is in the background of the shell (`app &`), and `stty tostop` does not stop the
/// app.
public final class TerminalTitleBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    /// The latest snapshot; while visible, ten times a second if the format has a spinner, or every five seconds if the
    /// terminal removes progress that is not repeated.
    public let delivery: BackendDelivery

    /// The longest title, in Unicode scalars.
    static let titleLimit = 240

    /// How often unchanged progress is repeated: Ghostty removes it after 15 seconds, kitty after 60.
    static let progressRepeatInterval: Duration = .seconds(5)

    static let spinnerInterval: Duration = .milliseconds(100)
    /// The shortest time between two reports of the status.
    static let reportInterval: Duration = .milliseconds(100)

    /// What the terminal shows.
    private struct Surface {
        let terminal: SharedTerminal
        /// When the indicator was shown; `nil` while it is hidden.
        var shownAt: Duration?
        var progressWrittenAt: Duration = .zero
        /// Whether an activity has failed since the indicator was shown.
        var hasFailure = false
        /// The status, if the terminal gets it.
        var records: StatusRecords?
    }

    private let applicationName: String
    private let settings: TerminalTitleSettings
    private let path: String
    private let environment: [String: String]
    private let known: KnownTerminal
    private let charset: Charset
    /// What of the terminal is used.
    let (setsTitle, showsProgress, showsStatus): (Bool, Bool, Bool)
    /// Whether the title has no spinner.
    private let isStill: Bool
    private let time: TimeSource

    /// Makes a backend. Opens nothing.
    ///
    /// - Parameters:
    ///   - name: the name that the diagnostics use.
    ///   - applicationName: the name of the app, for the placeholder `{app}`.
    ///   - settings: the format of the title, and when to show progress.
    ///   - path: the path of the terminal; by default, the controlling one.
    ///   - environment: the environment variables, by which the terminal and its character set are recognized.
    ///   - clock: measures the time between two frames of the spinner.
    public init(
        name: String = "terminalTitle",
        applicationName: String,
        settings: TerminalTitleSettings = TerminalTitleSettings(),
        path: String = "/dev/tty",
        environment: [String: String] = ProcessInfo.processInfo.environment,
        clock: any Clock<Duration> = SuspendingClock()
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.path = path
        self.environment = environment
        time = TimeSource.reading(clock)
        known = KnownTerminal.recognize(by: environment)
        charset = known.charset(in: environment)
        setsTitle = settings.title.isOn(auto: known.title.isSet)
        showsProgress = settings.progress.isOn(auto: KnownTerminal.isOne(of: known.progress, in: environment))
        showsStatus = settings.status.isOn(auto: KnownTerminal.isOne(of: known.status, in: environment))
        isStill = settings.accessible || CommandOnTerminal.isPresent
        let repeatInterval = showsProgress && known.progressExpires ? Self.progressRepeatInterval : nil
        let format = setsTitle ? settings.format : SnapshotFormat(pieces: [])
        delivery = BackendDelivery(
            animationInterval: CommandOnTerminal.isPresent
                ? nil
                : format.placeholders.contains(.spinner) && !isStill
                    ? Self.spinnerInterval : format.showsTime ? .seconds(1) : repeatInterval,
            minimumInterval: showsStatus ? Self.reportInterval : .zero,
            updateTimeLimit: TerminalDevice.updateTimeLimit
        )
    }

    /// Shows, changes and restores the title, and waits while the terminal accepts no bytes.
    ///
    /// - Throws: if there is no terminal, or it does not support what the settings select, or it was closed.
    public func show(_ updates: IndicatorUpdates) async throws {
        let terminal = try openTerminal()
        var surface = Surface(terminal: terminal)
        defer {
            hide(surface)
            try? terminal.settleOrContinue()
        }
        if showsStatus { surface.records = StatusRecords(app: applicationName) }
        for await update in updates {
            for step in update.steps { surface.records?.follow(step) }
            if update.snapshot.isVisible {
                show(update, on: &surface)
            } else {
                (surface.shownAt, surface.hasFailure) = (nil, false)
                hide(surface)
            }
            try terminal.settle()
        }
    }

    private func hide(_ surface: Surface) {
        let records = surface.records?.lasting ?? []
        surface.terminal.change { $0.title.hide(ObjectIdentifier(self), leaving: records) }
    }

    /// What of the terminal is used; empty if nothing is.
    var surfaces: String {
        let used = [
            setsTitle ? "the title" : nil, showsProgress ? "the progress (OSC 9;4)" : nil,
            showsStatus ? "the status (OSC 7501)" : nil,
        ]
        return used.compactMap(\.self).joined(separator: " and ")
    }

    /// Opens the terminal, if something of it is used.
    func openTerminal() throws(TerminalError) -> SharedTerminal {
        let terminal = try TerminalRegistry.open(path: path, environment: environment, forSequences: true)
        if surfaces.isEmpty { throw .keepsTitle(terminal: known.name, hasTitle: known.title != .unknown) }
        return terminal
    }

    private func show(_ update: IndicatorUpdate, on surface: inout Surface) {
        let (snapshot, now) = (update.snapshot, time.now)
        let shownAt = surface.shownAt ?? now
        let isFirst = surface.shownAt == nil
        surface.shownAt = shownAt
        let repeatsProgress =
            known.progressExpires && now - surface.progressWrittenAt >= Self.progressRepeatInterval
            && !CommandOnTerminal.isPresent
        if isFirst || repeatsProgress { surface.progressWrittenAt = now }
        let frame = (now - shownAt).wholeMilliseconds / Self.spinnerInterval.wholeMilliseconds
        let title = title(for: snapshot, frame: frame)
        if !isFirst, update.finished.contains(where: \.outcome.isFailure) { surface.hasFailure = true }
        let progress = TerminalProgress(
            state: snapshot.attention != nil ? .attention : surface.hasFailure ? .failed : .normal,
            percentage: Percentage(snapshot.progress)
        )
        let records = surface.records?.all ?? []
        surface.terminal.change { outbox in
            outbox.title.show(
                ObjectIdentifier(self),
                .init(title: setsTitle ? title : nil, progress: showsProgress ? progress : nil, records: records),
                repeatsProgress: repeatsProgress && !isFirst
            )
        }
    }

    private func title(for snapshot: IndicatorSnapshot, frame: Int) -> String {
        let frames = charset.spinnerFrames
        let text = settings.format.text(
            for: snapshot,
            applicationName: applicationName,
            spinner: isStill ? "" : frames[frame % frames.count]
        )
        return SafeText.singleLine(text.isEmpty ? applicationName : text, limit: Self.titleLimit)
    }
}
