/// Records what a terminal shows and what it should show, and gives the bytes that lead from one to the other.
///
/// A pure value. Its owner passes ``nextBytes`` to the terminal and reports with ``didWrite(_:)`` what the terminal
/// took. A terminal that takes none for an hour is then sent the latest state, not an hour of states, and a control
/// sequence that it has begun to take is always ended before another begins.
///
/// Each backend that is visible on the terminal has a claim, and the title of the latest claim is shown. The title is
/// saved before the first claim is shown and restored after the last one.
struct TitleLedger: Sendable {
    /// Identifies a claim.
    typealias ClaimID = ObjectIdentifier

    private struct Claim: Sendable {
        var id: ClaimID
        var title: String
        var progress: TerminalProgress?
    }

    /// What was done to the terminal. `title` is set while the old one is saved.
    private struct Shown: Sendable {
        var title: String?
        var progress: TerminalProgress?
    }

    private let style: KnownTerminal.TitleStyle
    private var claims: [Claim] = []
    private var isClosed = false
    private var mustRepeatProgress = false
    /// The progress that is shown while there is no claim.
    private var lastingProgress: TerminalProgress?
    /// What is written once, after what the terminal is to show.
    private var messages = ""

    /// Whether the terminal is to show no claim for now: the process is about to be stopped by Ctrl-Z.
    var isSuspended = false

    /// What the terminal shows once it has taken what is unwritten.
    private var shown = Shown()
    /// Of the bytes that the terminal has begun to take, those that it has not taken yet.
    private var unwritten: ArraySlice<UInt8> = []

    init(style: KnownTerminal.TitleStyle) {
        self.style = style
    }

    /// Shows `title` for a claim, which is made when there is none yet. Without effect once closed.
    ///
    /// - Parameter repeatsProgress: writes the progress even if it has not changed.
    mutating func show(_ id: ClaimID, title: String, progress: TerminalProgress?, repeatsProgress: Bool = false) {
        guard !isClosed else { return }
        lastingProgress = nil
        let claim = Claim(id: id, title: title, progress: progress)
        if let index = claims.firstIndex(where: { $0.id == id }) {
            claims[index] = claim
        } else {
            claims.append(claim)
        }
        if repeatsProgress, claims.last?.id == id { mustRepeatProgress = true }
    }

    /// Withdraws a claim. Without effect when there is none.
    mutating func hide(_ id: ClaimID) {
        claims.removeAll { $0.id == id }
    }

    /// Shows a progress until the next claim, or with `nil` no more. Without effect once closed.
    mutating func leave(_ progress: TerminalProgress?) {
        if !isClosed { lastingProgress = progress }
    }

    /// Writes a control sequence once. Without effect once closed.
    mutating func send(_ sequence: String) {
        if !isClosed { messages += sequence }
    }

    /// Withdraws every claim, and takes no other.
    mutating func close() {
        claims = []
        lastingProgress = nil
        isClosed = true
    }

    /// Discards what was to be done: the terminal is closed.
    mutating func abandon() {
        close()
        shown = Shown()
        unwritten = []
        messages = ""
    }

    /// The bytes to write next; empty when the terminal shows what it should.
    var nextBytes: ArraySlice<UInt8> {
        unwritten.isEmpty ? transition().bytes : unwritten
    }

    /// Notes that the terminal has taken the first `count` of ``nextBytes``, as they are now.
    mutating func didWrite(_ count: Int) {
        guard count > 0 else { return }
        if unwritten.isEmpty {
            (unwritten, shown) = transition()
            mustRepeatProgress = false
            messages = ""
        }
        unwritten = unwritten.dropFirst(count)
    }

    /// The control sequences from what the terminal shows to what it should, and what it shows after them.
    private func transition() -> (bytes: ArraySlice<UInt8>, result: Shown) {
        let latest = isSuspended ? nil : claims.last
        var sequences = ""
        let progress = latest == nil && !isSuspended ? lastingProgress : latest?.progress
        if progress == nil, shown.progress != nil { sequences += Self.setProgress(nil) }
        if let latest {
            if shown.title == nil { sequences += style.beginning }
            if shown.title != latest.title { sequences += Self.setTitle(latest.title) }
        } else if shown.title != nil {
            sequences += style.end
        }
        if let progress, progress != shown.progress || mustRepeatProgress { sequences += Self.setProgress(progress) }
        sequences += messages
        return (ArraySlice(sequences.utf8), Shown(title: latest?.title, progress: progress))
    }
}

extension TitleLedger {
    /// OSC 0: sets the icon and window titles. `text` must be free of control characters.
    ///
    /// Ended with BEL, as terminfo's `fsl` says: every terminal takes it, also those that know no other end.
    static func setTitle(_ text: String) -> String {
        "\u{1B}]0;\(text)\u{07}"
    }

    /// OSC 9;4: shows, changes or, with `nil`, clears the progress; documented at ConEmu's `AnsiEscapeCodes`.
    ///
    /// Ended with ST: VTE asks for it in every OSC that is newer than the title.
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

/// What OSC 9;4 can show.
struct TerminalProgress: Sendable, Hashable {
    enum State: Sendable, Hashable {
        /// Work is in progress.
        case normal
        /// Something has failed.
        case failed
        /// The user is asked for something.
        case attention
    }

    /// What the colour of the bar says.
    var state = State.normal
    /// How much is done; `nil` when it is not known, and the bar says only that work is in progress.
    var percentage: Percentage?
}
