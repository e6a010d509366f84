import BackendConfiguration
import IndicatorCore

/// Records what a terminal shows and what it should show, and computes the bytes to get from one to the other.
///
/// A pure value, which a ``TerminalOutbox`` renders.
///
/// Each backend that is visible on the terminal has a claim, and the title of the latest claim is shown. The original
/// title is saved before the first claim is shown and restored after the last one.
struct TitleState: Sendable {
    /// What a claim shows, or the terminal. Its `title` is set while the original one is saved.
    struct Content: Sendable {
        var title: String?
        var progress: TerminalProgress?
        /// What is reported by OSC 7501.
        var records: [ProgramStatus] = []
    }

    private let style: KnownTerminal.TitleStyle
    private let charset: Charset
    private var claims: [(id: ObjectIdentifier, content: Content)] = []
    private var isClosed = false
    private var mustRepeatProgress = false
    /// What the last claim has left, as long as there is none.
    private var lastingRecords: [ProgramStatus] = []
    /// Control sequences to write once, after the title and progress.
    private var messages = ""

    /// Whether no claim is shown because the process is being stopped by Ctrl-Z.
    var isSuspended = false

    /// What the terminal shows after what was rendered.
    private var shown = Content()

    init(style: KnownTerminal.TitleStyle, charset: Charset = .utf8) {
        self.style = style
        self.charset = charset
    }

    /// Shows what a claim wants, which is created if needed. No effect after ``close()``.
    ///
    /// - Parameter repeatsProgress: whether to write the progress even if it is unchanged.
    mutating func show(_ id: ObjectIdentifier, _ content: Content, repeatsProgress: Bool = false) {
        guard !isClosed else { return }
        let claim = (id, content)
        if let index = claims.firstIndex(where: { $0.id == id }) { claims[index] = claim } else { claims.append(claim) }
        if repeatsProgress, claims.last?.id == id { mustRepeatProgress = true }
        lastingRecords = []
    }

    /// Removes a claim, if there is one.
    ///
    /// - Parameter records: what stays reported until there is another claim.
    mutating func hide(_ id: ObjectIdentifier, leaving records: [ProgramStatus] = []) {
        let count = claims.count
        claims.removeAll { $0.id == id }
        // What was shown and hidden at once leaves something, too.
        if claims.isEmpty, !isClosed, claims.count < count || !records.isEmpty { lastingRecords = records }
    }

    /// Removes all claims.
    mutating func hideAll() { claims = [] }

    /// Writes a control sequence once. No effect after ``close()``.
    mutating func send(_ sequence: String) {
        if !isClosed { messages += sequence }
    }

    /// Removes all claims, and ignores later ones.
    mutating func close() {
        claims = []
        isClosed = true
    }

    /// The bytes to write; empty if the terminal shows what it should. They count as written.
    mutating func render() -> ArraySlice<UInt8> {
        let (bytes, result) = transition()
        if !bytes.isEmpty { (shown, mustRepeatProgress, messages) = (result, false, "") }
        return bytes
    }

    /// The control sequences to the wanted state, and that state.
    private func transition() -> (bytes: ArraySlice<UInt8>, result: Content) {
        let latest = isSuspended ? nil : claims.last?.content
        var sequences = ""
        let progress = latest?.progress
        if progress == nil, shown.progress != nil { sequences += Self.setProgress(nil) }
        if let title = latest?.title {
            if shown.title == nil { sequences += KnownTerminal.TitleStyle.beginning }
            if shown.title != title { sequences += style.setTitle(title) }
        } else if shown.title != nil {
            sequences += style.end
        }
        if let progress, progress != shown.progress || mustRepeatProgress { sequences += Self.setProgress(progress) }
        let records = latest?.records ?? lastingRecords
        sequences += StatusRecords.reports(from: shown.records, to: records) + messages
        let result = Content(title: latest?.title, progress: progress, records: records)
        return (ArraySlice(charset.text(sequences).utf8), result)
    }
}

extension TitleState {
    /// OSC 9;4: shows, changes or, with `nil`, clears the progress; documented at ConEmu's `AnsiEscapeCodes`.
    ///
    /// Terminated by ST: VTE requires it in every OSC newer than the title.
    static func setProgress(_ progress: TerminalProgress?) -> String {
        let isKnown = progress?.state != .normal || progress?.percentage != nil
        let state = isKnown ? progress?.state.rawValue ?? 0 : 3
        return "\u{1B}]9;4;\(state)\(progress?.percentage.map { ";\($0.value)" } ?? "")\u{1B}\\"
    }
}

/// The progress as OSC 9;4 shows it.
struct TerminalProgress: Sendable, Hashable {
    enum State: Int, Sendable, Hashable {
        /// Work is in progress; 3 if it is not known how much.
        case normal = 1
        /// Something has failed.
        case failed
        /// The app waits for the user.
        case attention = 4
    }

    /// The state, shown as the colour of the bar.
    var state = State.normal
    /// How much is done; `nil` for an indeterminate bar.
    var percentage: Percentage?
}
