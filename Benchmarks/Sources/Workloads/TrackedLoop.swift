import Dispatch
import IndicatorCore
import IndicatorTracking

/// Loops over sequences that do nothing else.
final class TrackedLoop: Sendable {
    /// What is iterated, and where its iteration is an activity.
    enum Kind: String, CaseIterable {
        case sequence = "sequence"
        case asyncSequence = "asynchronous sequence"
        case tracker = "asynchronous sequence in a tracker"
        case trackerWithValues = "the same with a value for each element"
    }

    private let kind: Kind
    private let manager = IndicatorManager.measured(.shown)
    private let tracker = ActivityTracker<Int>()

    init(_ kind: Kind) {
        self.kind = kind
        tracker.attach(to: manager)
    }

    func iteratePlain(_ times: Int) {
        if kind == .sequence { return iterate(0..<times) }
        iterate(Numbers(end: times))
    }

    func iterateTracked(_ times: Int) {
        switch kind {
        case .sequence: iterate((0..<times).tracked("Compressing", in: manager))
        case .asyncSequence: iterate(Numbers(end: times).tracked("Downloading", in: manager))
        case .tracker: iterate(Numbers(end: times).tracked(in: tracker))
        case .trackerWithValues: iterate(Numbers(end: times).tracked(in: tracker) { $0 })
        }
    }

    private func iterate(_ sequence: some Sequence<Int>) {
        for number in sequence { consume(number, number) }
    }

    private func iterate(_ sequence: some AsyncSequence<Int, Never> & Sendable) {
        let end = DispatchSemaphore(value: 0)
        Task {
            for await number in sequence { consume(number, number) }
            end.signal()
        }
        end.wait()
    }
}

/// A sequence that never waits.
private struct Numbers: AsyncSequence, AsyncIteratorProtocol, Sendable {
    let end: Int
    private var next = 0

    init(end: Int) {
        self.end = end
    }

    mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
        next += 1
        return next <= end ? next : nil
    }

    func makeAsyncIterator() -> Self { self }
}
