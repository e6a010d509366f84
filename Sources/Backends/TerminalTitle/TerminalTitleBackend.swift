import Foundation
public import IndicatorCore

/// Shows the indicator in the title of the terminal that the app runs in, and puts the old title back.
///
/// It writes to the controlling terminal of the process, wherever the standard streams lead, and to nothing else. While
/// the indicator is hidden nothing is written at all.
///
/// - When the indicator is shown, the title is saved on the terminal's own stack (XTWINOPS 22), and when it is hidden,
///   the backend stopped, or the process exits by returning from `main` or calling `exit`, it is restored from there
///   (XTWINOPS 23), once for each time. A signal that ends the process leaves no time for it: let signals shut the
///   manager down. A terminal that takes no bytes at exit (Ctrl-S) keeps the title: the process does not wait for it.
/// - A few terminals (Konsole, Windows Terminal, urxvt, older st) have no such stack. There the title is emptied as
///   well, which they take as "no title of the app's".
/// - Several backends of one process can show on one terminal: the title is that of the one that was shown last.
/// - Titles are written as UTF-8, without control characters, and cut to 240 Unicode scalars.
///
/// In the background of the shell (`app &`) the title is set all the same, and `stty tostop` does not stop the app for
/// it.
public final class TerminalTitleBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    /// The latest snapshot while visible; ten times a second when the format has a spinner, and only then.
    public let delivery: BackendDelivery

    /// How many Unicode scalars of a title are written.
    static let titleLimit = 240

    /// How long ``stop()`` waits for a terminal that takes no bytes before it leaves the rest to a thread.
    static let stopLimit: Duration = .milliseconds(500)

    /// How often the progress is written although it has not changed: Ghostty takes it away 15 seconds after the last
    /// time. Only a format with a spinner brings the occasion; without one the process is not woken up for it.
    static let progressRepeatInterval: Duration = .seconds(5)

    static let spinnerInterval: Duration = .milliseconds(100)
    static let spinnerFrames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

    private struct State {
        var terminal: SharedTerminal?
        /// When the indicator was shown; `nil` while it is hidden.
        var shownAt: Duration?
        var progressWrittenAt: Duration = .zero
        /// The latest snapshot with something in progress, for the moment when nothing is any more.
        var latestBusy: IndicatorSnapshot?
    }

    private let applicationName: String
    private let settings: TerminalTitleSettings
    private let path: String
    private let environment: [String: String]
    private let time: TimeSource
    private let state = Locked(State())

    /// Makes a backend. Nothing is opened yet.
    ///
    /// - Parameters:
    ///   - name: the name that the diagnostics use.
    ///   - applicationName: the name of the app, for the placeholder `{app}`.
    ///   - settings: what the title says.
    public convenience init(
        name: String = "terminalTitle",
        applicationName: String,
        settings: TerminalTitleSettings = TerminalTitleSettings()
    ) {
        self.init(
            name: name,
            applicationName: applicationName,
            settings: settings,
            path: TerminalDevice.controllingTerminal,
            environment: ProcessInfo.processInfo.environment
        )
    }

    /// Makes a backend for another terminal than the controlling one, in another environment or on another clock.
    package init(
        name: String = "terminalTitle",
        applicationName: String,
        settings: TerminalTitleSettings = TerminalTitleSettings(),
        path: String,
        environment: [String: String],
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.path = path
        self.environment = environment
        time = TimeSource.reading(clock)
        delivery = BackendDelivery(
            animationInterval: settings.format.placeholders.contains(.spinner) ? Self.spinnerInterval : nil
        )
    }

    /// Opens the terminal; writes nothing.
    ///
    /// - Throws: ``TerminalTitleError`` when there is no terminal, or it knows no control sequences.
    public func start() async throws {
        let traits = TerminalTraits(environment: environment)
        let terminal = try Self.openTerminal(path: path, environment: environment, traits: traits)
        state.withLock { $0 = State(terminal: terminal) }
    }

    /// Shows, changes or puts back the title, and waits for as long as the terminal takes no bytes.
    ///
    /// - Throws: ``TerminalTitleError`` when the terminal is gone.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        let now = time.now
        let terminal = state.withLock { state -> SharedTerminal? in
            guard let terminal = state.terminal else { return nil }
            if snapshot.isVisible {
                show(snapshot, on: terminal, at: now, state: &state)
            } else {
                state.shownAt = nil
                state.latestBusy = nil
                terminal.change { $0.hide(ObjectIdentifier(self)) }
            }
            return terminal
        }
        try terminal?.settle()
    }

    /// Puts the title back and lets go of the terminal.
    public func stop() async {
        let terminal = state.withLock { state -> SharedTerminal? in
            let terminal = state.terminal
            state = State()
            return terminal
        }
        guard let terminal else { return }
        terminal.change { $0.hide(ObjectIdentifier(self)) }
        if (try? terminal.settle(within: Self.stopLimit)) == false { TerminalRegistry.settleLater(terminal) }
    }

    /// Opens the terminal that a backend would show on.
    static func openTerminal(
        path: String,
        environment: [String: String],
        traits: TerminalTraits
    ) throws(TerminalTitleError) -> SharedTerminal {
        let terminal = try TerminalRegistry.open(path: path, traits: traits)
        let type = environment["TERM"]
        if type == nil || type == "" || type == "dumb" { throw .dumbTerminal(type: type) }
        return terminal
    }

    private func show(_ snapshot: IndicatorSnapshot, on terminal: SharedTerminal, at now: Duration, state: inout State)
    {
        var snapshot = snapshot
        if snapshot.activityCount > 0 {
            state.latestBusy = snapshot
        } else if let latestBusy = state.latestBusy {
            // The indicator stays through a short gap, and what it says would flicker if it did not stay too.
            snapshot = latestBusy
        }
        let shownAt = state.shownAt ?? now
        let isFirst = state.shownAt == nil
        state.shownAt = shownAt
        let showsProgress = showsProgress
        let repeatsProgress = showsProgress && now - state.progressWrittenAt >= Self.progressRepeatInterval
        if isFirst || repeatsProgress { state.progressWrittenAt = now }
        let title = title(
            for: snapshot,
            frame: (now - shownAt).wholeMilliseconds / Self.spinnerInterval.wholeMilliseconds
        )
        terminal.change { ledger in
            ledger.show(
                ObjectIdentifier(self),
                title: title,
                progress: showsProgress ? TerminalProgress(snapshot.progress) : nil,
                repeatsProgress: repeatsProgress && !isFirst
            )
        }
    }

    private var showsProgress: Bool {
        switch settings.progress {
        case .auto: TerminalTraits(environment: environment).showsProgress
        case .on: true
        case .off: false
        }
    }

    private func title(for snapshot: IndicatorSnapshot, frame: Int) -> String {
        let text = settings.format.text(
            for: snapshot,
            applicationName: applicationName,
            spinner: Self.spinnerFrames[frame % Self.spinnerFrames.count]
        )
        let title = DisplayText.singleLine(text, limit: Self.titleLimit)
        return title.isEmpty ? DisplayText.singleLine(applicationName, limit: Self.titleLimit) : title
    }
}
