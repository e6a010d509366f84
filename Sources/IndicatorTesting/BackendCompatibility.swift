import Foundation
public import IndicatorCore
import Logging

/// What an indicator expects of a backend, as a suite for the tests of any backend.
///
/// ```swift
/// @Test(arguments: BackendCompatibility.Case.allCases)
/// func compatibility(_ expectation: BackendCompatibility.Case) async throws {
///     let led = try FakeLED()
///     let suite = BackendCompatibility(
///         make: { LED(path: led.path) },
///         surface: BackendCompatibility.Surface(take: led.remove, giveBack: led.makeAgain, shown: led.read)
///     )
///     try await suite.check(expectation)
/// }
/// ```
///
/// Each case makes a backend, with an indicator on a virtual clock and the surface that the test has, preferably a real
/// one, and waits for what must happen for a limited time.
public struct BackendCompatibility: Sendable {
    /// What a backend must do.
    public enum Case: String, Sendable, Hashable, CaseIterable {
        /// It shows what goes on, and at the end restores what it has changed, once.
        case restores
        /// It can be used again after its end.
        case restarts
        /// Without its surface it is unavailable, and it is used when that is there.
        case retries
        /// The loss of its surface while it shows something is noticed, at the latest with the next change, and what it
        /// shows is there again when the surface is.
        case recovers
        /// While its surface hangs, it may be stalled, but the app goes on; and it goes on with the surface.
        case stalls
        /// The same snapshot again, as a repetition or not, changes nothing.
        case repeats
        /// It ends soon when it is ended while it starts.
        case endsWhileStarting
        /// What waits is shown if the surface is there again at the end.
        case catchesUp
        /// What cannot be shown at the end is counted.
        case counts
    }

    /// The surface that a backend shows the indicator on, as far as a test controls it.
    public struct Surface: Sendable {
        fileprivate let take: (@Sendable () async throws -> Void)?
        fileprivate let giveBack: @Sendable () async throws -> Void
        fileprivate let hang: (@Sendable () async throws -> Void)?
        fileprivate let goOn: @Sendable () async throws -> Void
        fileprivate let shown: (@Sendable () async throws -> String)?

        /// Describes a surface.
        ///
        /// - Parameters:
        ///   - take: makes it unavailable; `nil` if it always is available: those cases check nothing then.
        ///   - giveBack: makes it available again.
        ///   - hang: makes it accept nothing, without an error; `nil` if it never hangs.
        ///   - goOn: ends that.
        ///   - shown: what it shows, as a text that is the same before a backend is used and after that; `nil` if that
        ///     cannot be read, or what was shown stays, as in a log.
        public init(
            take: (@Sendable () async throws -> Void)? = nil,
            giveBack: @escaping @Sendable () async throws -> Void = {},
            hang: (@Sendable () async throws -> Void)? = nil,
            goOn: @escaping @Sendable () async throws -> Void = {},
            shown: (@Sendable () async throws -> String)? = nil
        ) {
            (self.take, self.giveBack, self.hang, self.goOn, self.shown) = (take, giveBack, hang, goOn, shown)
        }
    }

    /// What a backend does not do.
    public struct Violation: Error, CustomStringConvertible {
        /// What was expected, and the status of the backend.
        public let description: String
    }

    private let make: @Sendable () throws -> any IndicatorBackend
    private let surface: Surface
    private let limit: Duration

    /// Makes a suite.
    ///
    /// - Parameters:
    ///   - make: makes a backend on the surface.
    ///   - surface: the surface.
    ///   - limit: how long what must happen may take. Default: a minute, for busy machines.
    public init(
        make: @escaping @Sendable () throws -> any IndicatorBackend,
        surface: Surface = Surface(),
        limit: Duration = .seconds(60)
    ) {
        (self.make, self.surface, self.limit) = (make, surface, limit)
    }

    /// Checks one of the cases.
    ///
    /// - Throws: a ``Violation``, or an error of the functions that were passed.
    public func check(_ expectation: Case) async throws {
        let before = try await surface.shown?()
        switch expectation {
        case .restores:
            let run = try Run(make(), limit)
            try await show("work", in: run, since: before)
            await run.end()
            try expect(run.status?.state == .stopped && run.status?.lost == 0, "ends with nothing lost", run)
        case .restarts:
            let backend = try make()
            for number in 1...2 {
                let run = try Run(backend, limit)
                try await show("work \(number)", in: run, since: before)
                await run.end()
                try await expectRestored(before, run)
            }
        case .retries:
            guard let take = surface.take else { return }
            try await take()
            let run = try Run(make(), limit)
            run.indicator.start("work", label: "work")
            try await eventually("is unavailable without its surface", run) { run.isUnavailable }
            try await surface.giveBack()
            try await run.wait("is used when the surface is there", until: { $0.state == .running })
            try expect(run.status?.outages == 1, "has one outage", run)
            await run.end()
        case .recovers:
            guard let take = surface.take else { return }
            let run = try Run(make(), limit)
            try await show("before", in: run, since: before)
            try await take()
            var number = 0
            try await eventually("notices that its surface is lost", run) {
                number += 1
                // Hidden and shown: a change that every surface shows.
                run.indicator.stop("work")
                run.indicator.start("work", label: "change \(number)")
                run.clock.advance(by: .milliseconds(200))
                return run.isUnavailable
            }
            try await surface.giveBack()
            try await run.wait("recovers when the surface is there again", until: { $0.state == .running })
            await run.end()
        case .stalls:
            guard let hang = surface.hang else { return }
            let run = try Run(make(), limit)
            try await show("before", in: run, since: before)
            try await hang()
            for number in 1...10 {
                run.indicator.stop("work")
                run.indicator.start("work", label: "change \(number)")
                run.clock.advance(by: .seconds(1))
                try await Task.sleep(for: .milliseconds(5))
            }
            try expect(run.status?.state != .stopped, "goes on", run)
            try await surface.goOn()
            run.indicator.stop("work")
            try await run.wait("goes on with its surface", until: { $0.state == .running })
            try await expectRestored(before, run)
            await run.end()
            try expect(run.status?.lost == 0, "ends with nothing lost", run)
        case .repeats:
            let driver = BackendDriver(AnyBackend(try make()))
            let snapshot = IndicatorSnapshot(state: .active, activityCount: 1, label: "work")
            try await eventually("shows what goes on", nil) { (try? await driver.update(snapshot)) != nil }
            if let before { try await eventually("changes its surface", nil) { try await surface.shown?() != before } }
            let shown = try await surface.shown?()
            try await driver.update(snapshot)
            try await driver.update(IndicatorUpdate(snapshot, isRepetition: true))
            let again = try await surface.shown?()
            await driver.stop()
            guard shown == again else { throw Violation(description: "the same snapshot changes what is shown") }
        case .endsWhileStarting:
            let run = try Run(make(), limit)
            await run.end()
            try expect(run.status?.state == .stopped, "ends while it starts", run)
        case .catchesUp, .counts:
            guard let take = surface.take else { return }
            try await take()
            let run = try Run(make(), limit)
            try await eventually("is unavailable without its surface", run) { run.isUnavailable }
            run.indicator.begin("work").end(.failed("no space"))
            if expectation == .catchesUp { try await surface.giveBack() }
            await run.end()
            let isCounted = run.status.map { ($0.lost > 0) == (expectation == .counts) } ?? false
            try expect(isCounted, "counts what it could not show, and nothing else", run)
            if expectation == .counts { try await surface.giveBack() }
            return
        }
        if expectation != .repeats, let before { try await expectRestored(before, nil) }
    }

    /// Shows an activity, and waits until it is on the surface.
    private func show(_ label: String, in run: Run, since before: String?) async throws {
        run.indicator.start("work", label: label)
        try await run.wait("shows what goes on", until: { $0.state == .running && $0.updatesDelivered > 0 })
        guard let before, let shown = surface.shown else { return }
        try await eventually("changes its surface", run) { try await shown() != before }
    }

    private func expectRestored(_ before: String?, _ run: Run?) async throws {
        guard let before, let shown = surface.shown else { return }
        try await eventually("restores its surface", run) { try await shown() == before }
    }

    private func expect(_ condition: Bool, _ text: String, _ run: Run) throws {
        if !condition { throw run.violation(text) }
    }

    private func eventually(_ text: String, _ run: Run?, _ condition: () async throws -> Bool) async throws {
        let end = ContinuousClock.now + limit
        while try await !condition() {
            guard .now < end else {
                throw run?.violation(text) ?? Violation(description: "expected that the backend \(text)")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// A backend of an indicator on a virtual clock.
    private struct Run {
        let clock = VirtualClock()
        let indicator: IndicatorManager
        private let limit: Duration

        init(_ backend: any IndicatorBackend, _ limit: Duration) throws {
            self.limit = limit
            indicator = IndicatorManager(
                delays: try IndicatorDelays(startDelay: .zero, completionDelay: .zero),
                backends: [backend],
                clock: clock,
                logger: Logger(label: "compatibility") { _ in SwiftLogNoOpLogHandler() }
            )
        }

        var status: BackendStatus? { indicator.backendStatuses.first }

        var isUnavailable: Bool {
            if case .unavailable = status?.state { true } else { false }
        }

        /// Lets time pass in which attempts follow.
        func wait(_ text: String, until condition: (BackendStatus) -> Bool) async throws {
            let end = ContinuousClock.now + limit
            while !(status.map(condition) ?? false) {
                guard .now < end else { throw violation(text) }
                if isUnavailable { clock.advance(by: .seconds(1)) }
                try await Task.sleep(for: .milliseconds(5))
            }
        }

        /// Not within the default time, which a busy machine may exceed.
        func end() async { await indicator.shutdown(timeLimit: max(limit, .seconds(2))) }

        func violation(_ text: String) -> Violation {
            let state = status.map { "\($0.state), \($0.updatesDelivered) updates, \($0.lost) lost" } ?? "none"
            return Violation(description: "expected that the backend \(text); its status: \(state)")
        }
    }

    private struct AnyBackend: IndicatorBackend {
        let base: any IndicatorBackend

        init(_ base: any IndicatorBackend) { self.base = base }

        var name: String { base.name }
        var delivery: BackendDelivery { base.delivery }
        func show(_ updates: IndicatorUpdates) async throws { try await base.show(updates) }
    }
}
