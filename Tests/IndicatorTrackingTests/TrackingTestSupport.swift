import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import IndicatorTracking
import TestSupport
import Testing

/// Records the statuses that a tracker reports.
final class StatusRecorder<Value: Sendable>: Sendable {
    private let storage = Locked<[ActivityStatus<Value>]>([])
    private let onStatus: (@Sendable (ActivityStatus<Value>) -> Void)?

    init(onStatus: (@Sendable (ActivityStatus<Value>) -> Void)? = nil) { self.onStatus = onStatus }

    var statuses: [ActivityStatus<Value>] { storage.withLock { $0 } }

    /// Waits until a number of statuses were reported.
    func receives(_ count: Int) async -> Bool { await eventually { statuses.count >= count } }

    fileprivate func receive(_ status: ActivityStatus<Value>) {
        storage.withLock { $0.append(status) }
        onStatus?(status)
    }
}

extension ActivityTracker {
    func subscribe(_ recorder: StatusRecorder<Value>) {
        Task.detached(executorPreference: ServiceThread.foreignCode) { [statuses] in
            for await status in statuses { recorder.receive(status) }
        }
    }

    /// A recorder that has subscribed and received the first status.
    @discardableResult
    func recorder(onStatus: (@Sendable (ActivityStatus<Value>) -> Void)? = nil) async -> StatusRecorder<Value> {
        let recorder = StatusRecorder(onStatus: onStatus)
        subscribe(recorder)
        #expect(await recorder.receives(1))
        return recorder
    }
}

/// Lines that several tasks print.
final class Output: Sendable {
    private let storage = Locked<[String]>([])

    var lines: [String] { storage.withLock { $0 } }

    func print(_ line: String) { storage.withLock { $0.append(line) } }

    func print(_ status: ActivityStatus<Int>) {
        print("loading: \(status.isLoading), associatedValue: \(status.associatedValue ?? -1)")
    }
}

extension ActivityStatus where Value == String {
    /// The status as the worked examples print it.
    var line: String { "\(isLoading) \(associatedValue ?? "Empty")" }
}

/// A sequence of the elements of a collection.
struct Elements<Element: Sendable>: AsyncSequence, Sendable {
    typealias Failure = Never

    let elements: [Element]

    struct AsyncIterator: AsyncIteratorProtocol {
        var base: IndexingIterator<[Element]>

        mutating func next(isolation actor: isolated (any Actor)?) async -> Element? { base.next() }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: elements.makeIterator()) }
}

/// A piece of work on a virtual clock: delivers its number when its time has passed, and finishes.
struct Work: AsyncSequence, Sendable {
    typealias Element = Int
    typealias Failure = Never

    let number: Int
    let seconds: Int
    let clock: VirtualClock

    struct AsyncIterator: AsyncIteratorProtocol {
        var work: Work?

        mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
            guard let work else { return nil }
            self.work = nil
            await work.perform()
            return work.number
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(work: self) }

    func perform() async { try? await clock.sleep(for: .seconds(seconds)) }
}

extension VirtualClock {
    /// Advances from deadline to deadline, each time after the tasks wait for the given deadlines, in seconds from the
    /// start, and the given number of lines was printed.
    func run(through steps: [(deadlines: [Int], lines: Int)], printing output: Output) async -> Bool {
        for step in steps {
            let deadlines = step.deadlines.map { Duration.seconds($0) }
            guard await eventually({ self.deadlines == deadlines && output.lines.count == step.lines }) else {
                return false
            }
            if let next = deadlines.first { advance(to: next) }
        }
        return true
    }
}
