import Foundation
public import IndicatorCore
import IndicatorThreads

/// Shows the indicator in the title of the terminal that the app runs in, and restores the old title.
///
/// It writes to the controlling terminal of the process, wherever the standard streams lead, and to nothing else. While
/// the indicator is hidden nothing is written at all.
///
/// - When the indicator is shown, the title is saved on the terminal's own stack (XTWINOPS 22), and it is restored from
///   there (XTWINOPS 23) when the indicator is hidden, the backend stopped, or the process exits by returning from
///   `main` or calling `exit`. For signals that end or stop the process see `IndicatorManager.configured(for:)`. A
///   terminal that takes no bytes at exit (Ctrl-S) keeps the title: the process does not wait for it.
/// - Where the terminal may have no such stack, the title is emptied as well, which most of them take as "no title of
///   the app's".
/// - Progress is shown as well, beside the title or in the taskbar, by terminals that are known to (OSC 9;4).
/// - After a failure the progress goes on saying so for five seconds, or until the indicator is shown the next time.
/// - Several backends of one process can show on one terminal: the title is that of the one that was shown last.
/// - Titles are written as UTF-8, without control characters, and cut to 240 Unicode scalars. In GNU screen they are
///   written in ASCII.
///
/// In the background of the shell (`app &`) the title is set all the same, and `stty tostop` does not stop the app for
/// it.
public final class TerminalTitleBackend: IndicatorBackend {
    /// The name that the config file and the diagnostics use.
    public let name: String

    /// The latest snapshot while visible: ten times a second when the format has a spinner; every five seconds when the
    /// terminal removes progress that is not repeated.
    public let delivery: BackendDelivery

    /// How many Unicode scalars of a title are written.
    static let titleLimit = 240

    /// How long ``stop()`` waits for a terminal that takes no bytes before it leaves the rest to a thread.
    static let stopLimit: Duration = .milliseconds(500)

    /// How often the progress is written although it has not changed: Ghostty removes it 15 seconds after the last
    /// time, kitty 60.
    static let progressRepeatInterval: Duration = .seconds(5)

    /// How long a failure is shown after the indicator was hidden.
    static let failureTime: Duration = .seconds(5)

    static let spinnerInterval: Duration = .milliseconds(100)
    static let spinnerFrames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
    static let asciiSpinnerFrames = ["|", "/", "-", "\\"]

    private struct State {
        var terminal: SharedTerminal?
        /// When the indicator was shown; `nil` while it is hidden.
        var shownAt: Duration?
        var progressWrittenAt: Duration = .zero
        /// Whether an activity has failed since the indicator was shown.
        var hasFailure = false
        /// Orders the settings of the timer.
        var timerVersion: UInt64 = 0
    }

    private let applicationName: String
    private let settings: TerminalTitleSettings
    private let path: String
    private let environment: [String: String]
    private let known: KnownTerminal
    private let showsProgress: Bool
    private let time: TimeSource
    private let state = Locked(State())
    /// Ends what says that something failed.
    private let timer: DeadlineTimer

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
        timer = DeadlineTimer(time: time)
        known = KnownTerminal.recognize(by: environment)
        showsProgress =
            switch settings.progress {
            case .auto: known.showsProgress(in: environment)
            case .on: true
            case .off: false
            }
        let repeatInterval = showsProgress && known.progressExpires ? Self.progressRepeatInterval : nil
        delivery = BackendDelivery(
            animationInterval: settings.format.placeholders.contains(.spinner) ? Self.spinnerInterval : repeatInterval,
            updateTimeLimit: TerminalDevice.updateTimeLimit
        )
    }

    /// Opens the terminal; writes nothing.
    ///
    /// - Throws: ``TerminalTitleError`` when there is no terminal, or it knows no control sequences.
    public func start() async throws {
        let terminal = try Self.openTerminal(path: path, environment: environment)
        state.withLock { $0 = State(terminal: terminal, timerVersion: $0.timerVersion) }
    }

    /// Shows, changes or restores the title, and waits for as long as the terminal takes no bytes.
    ///
    /// - Throws: ``TerminalTitleError`` when the terminal was closed.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        let now = time.now
        let (terminal, failureEnd, version) = state.withLock { state -> (SharedTerminal?, Duration?, UInt64) in
            guard let terminal = state.terminal else { return (nil, nil, state.timerVersion) }
            var failureEnd: Duration?
            state.timerVersion += 1
            if snapshot.isVisible {
                show(snapshot, on: terminal, at: now, state: &state)
            } else {
                let hasFailure = state.hasFailure || snapshot.hasFailure
                if state.shownAt != nil, hasFailure, showsProgress { failureEnd = now + Self.failureTime }
                state.shownAt = nil
                state.hasFailure = false
                terminal.change { ledger in
                    ledger.hide(ObjectIdentifier(self))
                    if failureEnd != nil { ledger.leave(.failure) }
                }
            }
            return (terminal, failureEnd, state.timerVersion)
        }
        guard let terminal else { return }
        timer.set(failureEnd, version: version) { _ in
            terminal.change { $0.leave(nil) }
            if (try? terminal.settle(within: .zero)) == false { TerminalRegistry.settleLater(terminal) }
        }
        try terminal.settle()
    }

    /// Restores the title and releases the terminal.
    public func stop() async {
        let (terminal, version) = state.withLock { state -> (SharedTerminal?, UInt64) in
            let terminal = state.terminal
            state = State(timerVersion: state.timerVersion + 1)
            return (terminal, state.timerVersion)
        }
        timer.set(nil, version: version) { _ in }
        guard let terminal else { return }
        terminal.change { ledger in
            ledger.hide(ObjectIdentifier(self))
            ledger.leave(nil)
        }
        if (try? terminal.settle(within: Self.stopLimit)) == false { TerminalRegistry.settleLater(terminal) }
    }

    /// Opens the terminal that a backend would show on.
    static func openTerminal(
        path: String,
        environment: [String: String]
    ) throws(TerminalTitleError) -> SharedTerminal {
        let style = KnownTerminal.recognize(by: environment).title
        let terminal = try TerminalRegistry.open(path: path, style: style)
        let type = environment["TERM"]
        if type == nil || type == "" || type == "dumb" { throw .dumbTerminal(type: type) }
        return terminal
    }

    private func show(_ snapshot: IndicatorSnapshot, on terminal: SharedTerminal, at now: Duration, state: inout State)
    {
        let shownAt = state.shownAt ?? now
        let isFirst = state.shownAt == nil
        state.shownAt = shownAt
        let repeatsProgress = now - state.progressWrittenAt >= Self.progressRepeatInterval
        if isFirst || repeatsProgress { state.progressWrittenAt = now }
        let frame = (now - shownAt).wholeMilliseconds / Self.spinnerInterval.wholeMilliseconds
        let title = title(for: snapshot, frame: frame)
        if !isFirst, snapshot.hasFailure { state.hasFailure = true }
        let progress = TerminalProgress(
            state: snapshot.attention != nil ? .attention : state.hasFailure ? .failed : .normal,
            percentage: Percentage(snapshot.progress)
        )
        terminal.change { ledger in
            ledger.show(
                ObjectIdentifier(self),
                title: title,
                progress: showsProgress ? progress : nil,
                repeatsProgress: repeatsProgress && !isFirst
            )
        }
    }

    private func title(for snapshot: IndicatorSnapshot, frame: Int) -> String {
        let frames = known.title.takesUnicode ? Self.spinnerFrames : Self.asciiSpinnerFrames
        let text = settings.format.text(
            for: snapshot,
            applicationName: applicationName,
            spinner: frames[frame % frames.count]
        )
        let title = DisplayText.singleLine(text.isEmpty ? applicationName : text, limit: Self.titleLimit)
        return known.title.takesUnicode ? title : Self.ascii(title)
    }

    /// The text in ASCII: letters without their marks, plain dashes and quotes, and `?` for what has no such form.
    static func ascii(_ text: String) -> String {
        text.decomposedStringWithCompatibilityMapping.unicodeScalars.map { scalar in
            if scalar.isASCII { return String(scalar) }
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format: return ""
            case .dashPunctuation: return "-"
            case .initialPunctuation, .finalPunctuation: return "'"
            default: return "?"
            }
        }.joined()
    }
}

extension IndicatorSnapshot {
    /// Whether an activity has failed since the snapshot before.
    fileprivate var hasFailure: Bool {
        finished.contains { activity in
            if case .failed = activity.outcome { true } else { false }
        }
    }
}

extension TerminalProgress {
    /// A bar that is full: an empty one is not seen.
    fileprivate static let failure = TerminalProgress(state: .failed, percentage: Percentage(1))
}
