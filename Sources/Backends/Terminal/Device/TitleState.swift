import BackendConfiguration
import DisplayText

/// Records what a terminal shows and what it should show, and computes the bytes to get from one to the other.
///
/// A pure value, which a ``TerminalOutbox`` renders.
///
/// Each backend that is visible on the terminal has a claim, and the title of the latest claim is shown. The original
/// title is saved before the first claim is shown and restored after the last one.
struct TitleState: Sendable {
    /// Identifies a claim.
    typealias ClaimID = ObjectIdentifier

    /// What a claim shows, or the terminal. Its `title` is set while the original one is saved.
    private struct Content: Sendable {
        var title: String?
        var progress: TerminalProgress?
        /// What is reported by OSC 7501.
        var records: [ProgramStatus] = []
    }

    private let style: KnownTerminal.TitleStyle
    private let charset: Charset
    private var claims: [(id: ClaimID, content: Content)] = []
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

    /// Shows `title` for a claim, which is created if needed. No effect after ``close()``.
    ///
    /// - Parameters:
    ///   - title: the title; `nil` keeps the original one.
    ///   - records: what to report by OSC 7501.
    ///   - repeatsProgress: whether to write the progress even if it is unchanged.
    mutating func show(
        _ id: ClaimID,
        title: String?,
        progress: TerminalProgress?,
        records: [ProgramStatus] = [],
        repeatsProgress: Bool = false
    ) {
        guard !isClosed else { return }
        let claim = (id, Content(title: title, progress: progress, records: records))
        if let index = claims.firstIndex(where: { $0.id == id }) { claims[index] = claim } else { claims.append(claim) }
        if repeatsProgress, claims.last?.id == id { mustRepeatProgress = true }
        lastingRecords = []
    }

    /// Removes a claim, if there is one.
    ///
    /// - Parameter records: what stays reported until there is another claim.
    mutating func hide(_ id: ClaimID, leaving records: [ProgramStatus] = []) {
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
        let state: Int
        switch progress?.state {
        case nil: state = 0
        case .normal: state = progress?.percentage == nil ? 3 : 1
        case .failed: state = 2
        case .attention: state = 4
        }
        return "\u{1B}]9;4;\(state)\(progress?.percentage.map { ";\($0.value)" } ?? "")\u{1B}\\"
    }
}

/// The progress as OSC 9;4 shows it.
struct TerminalProgress: Sendable, Hashable {
    enum State: Sendable, Hashable {
        /// Work is in progress.
        case normal
        /// Something has failed.
        case failed
        /// The app waits for the user.
        case attention
    }

    /// The state, shown as the colour of the bar.
    var state = State.normal
    /// How much is done; `nil` for an indeterminate bar.
    var percentage: Percentage?
}
