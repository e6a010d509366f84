/// Keeps account of what a terminal shows and what it should show, and says which bytes lead from one to the other.
///
/// A pure value. Whoever owns it passes ``nextBytes`` to the terminal and reports with ``didWrite(_:)`` what the
/// terminal took. A terminal that takes none for an hour is then sent the latest state, not an hour of states, and a
/// control sequence that it has begun to take is always ended before another begins.
///
/// Each backend that is visible on the terminal has a claim. The title of the latest claim is shown; for each claim one
/// title is on the terminal's stack, so that the last one to go brings back what was there before the first.
struct TitleLedger: Sendable {
    /// Identifies a claim.
    typealias ClaimID = ObjectIdentifier

    private struct Claim: Sendable {
        var id: ClaimID
        var title: String
        var progress: TerminalProgress?
    }

    /// What was done to the terminal.
    private struct Shown: Sendable {
        var saves = 0
        /// `nil` while it is not one that was set here.
        var title: String?
        var progress: TerminalProgress?
    }

    private let hasTitleStack: Bool
    private var claims: [Claim] = []
    private var isClosed = false
    private var mustRepeatProgress = false

    /// What the terminal shows once it has taken what is unwritten.
    private var shown = Shown()
    /// Of the bytes that the terminal has begun to take, those that it has not taken yet.
    private var unwritten: ArraySlice<UInt8> = []

    init(hasTitleStack: Bool) {
        self.hasTitleStack = hasTitleStack
    }

    /// Whether any claim is left.
    var isClaimed: Bool { !claims.isEmpty }

    /// Shows `title` for a claim, which is made when there is none yet. Without effect once closed.
    ///
    /// - Parameter repeatsProgress: writes the progress even if it has not changed.
    mutating func show(_ id: ClaimID, title: String, progress: TerminalProgress?, repeatsProgress: Bool = false) {
        guard !isClosed else { return }
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

    /// Withdraws every claim, and takes no other.
    mutating func close() {
        claims = []
        isClosed = true
    }

    /// Forgets what was to be done: the terminal is gone.
    mutating func abandon() {
        close()
        shown = Shown()
        unwritten = []
    }

    /// The bytes to write next; empty when the terminal shows what it should.
    var nextBytes: ArraySlice<UInt8> {
        unwritten.isEmpty ? transition().bytes : unwritten
    }

    /// Takes note that the terminal has taken the first `count` of ``nextBytes``, as they are now.
    mutating func didWrite(_ count: Int) {
        guard count > 0 else { return }
        if unwritten.isEmpty {
            (unwritten, shown) = transition()
            mustRepeatProgress = false
        }
        unwritten = unwritten.dropFirst(count)
    }

    /// The control sequences from what the terminal shows to what it should, and what it shows after them.
    private func transition() -> (bytes: ArraySlice<UInt8>, result: Shown) {
        var sequences = ""
        var result = shown
        let latest = claims.last
        if latest?.progress == nil, shown.progress != nil {
            sequences += ControlSequences.setProgress(nil)
        }
        if claims.count < shown.saves {
            // Nothing will be restored there; no title is the terminal's own, and better than one that says busy for
            // ever.
            if claims.isEmpty, !hasTitleStack { sequences += ControlSequences.setTitle("") }
            sequences += String(repeating: ControlSequences.restoreTitle, count: shown.saves - claims.count)
            result.title = nil
        }
        if claims.count > shown.saves {
            sequences += String(repeating: ControlSequences.saveTitle, count: claims.count - shown.saves)
        }
        result.saves = claims.count
        if let latest, latest.title != result.title {
            sequences += ControlSequences.setTitle(latest.title)
            result.title = latest.title
        }
        if let progress = latest?.progress, progress != shown.progress || mustRepeatProgress {
            sequences += ControlSequences.setProgress(progress)
        }
        result.progress = latest?.progress
        return (ArraySlice(sequences.utf8), result)
    }
}
