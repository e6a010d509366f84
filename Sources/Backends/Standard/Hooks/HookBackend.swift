import BackendConfiguration
public import IndicatorCore
public import Logging

/// An event that a hook reports.
public struct HookEvent: Sendable, Hashable {
    /// The events.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The indicator was shown.
        case shown
        /// The indicator was hidden.
        case hidden
        /// An activity with a label has ended.
        case finished
        /// An activity waits for the user: `attention`.
        case attention
    }

    /// The event.
    public var kind: Kind
    /// The name of the app.
    public var applicationName: String
    /// The label of the activity; without one, the name of the app.
    public var title: String
    /// What has happened, such as `Done after 12 s`, or the question. One line without control characters.
    public var text: String
    /// The activity that has ended, for ``Kind/finished``.
    public var activity: FinishedActivity?

    /// Whether it should be noticed soon: a question, or a failure.
    public var isUrgent: Bool { kind == .attention || activity?.outcome.isFailure == true }
}

/// Which events a hook reports.
public struct HookSettings: Sendable, Hashable {
    /// The events. Default: ``HookEvent/Kind/finished`` and ``HookEvent/Kind/attention``.
    public var events: Set<HookEvent.Kind>
    /// Which outcomes count as finished. Default: `always`. Cancelled activities never do.
    public var whenDone: WhenDone
    /// How long an activity must have lasted to count as finished. Default: 10 seconds.
    public var after: Duration
    /// How long a program or a message may take before it is given up. Default: 30 seconds. A backend that needs four
    /// times as long for an update, which may have an event of each kind, counts as stalled.
    public var timeLimit: Duration
    /// The time between two reports of ends. Shorter in tests.
    package var reportInterval = Duration.seconds(5)

    /// Makes settings.
    public init(
        events: Set<HookEvent.Kind> = [.finished, .attention],
        whenDone: WhenDone = .always,
        after: Duration = .seconds(10),
        timeLimit: Duration = .seconds(30)
    ) {
        (self.events, self.whenDone, self.after, self.timeLimit) = (events, whenDone, after, timeLimit)
    }
}

/// Calls a function when the indicator is shown or hidden, when an activity ends, or when one waits for the user.
///
/// The function is called on the backend's own thread, for one event at a time. Activities that end while it runs, or
/// within five seconds of the last report, are one event: about a failure if there is one, with a count. An event whose
/// function throws is not repeated: a warning says which one was lost, and why. In a config file, the kinds `command`
/// and `webhook` are hooks.
public final class HookBackend: IndicatorBackend {
    /// What to do for an event. The function that it is passed returns whether the backend is being ended: then what
    /// takes long must end, or the events that follow are lost.
    public typealias Run = @Sendable (HookEvent, @Sendable () -> Bool) async throws -> Void

    /// The name that the config file and the diagnostics use.
    public let name: String

    private let applicationName: String
    private let settings: HookSettings
    private let logger: Logger
    private let run: Run
    private let check: @Sendable () throws -> Void

    /// Makes a backend.
    ///
    /// - Parameters:
    ///   - name: the name that the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: which events call the function.
    ///   - logger: where it is logged which event was lost, with the name of the backend in the metadata `backend`.
    ///   - check: throws why the function cannot work; the backend is unavailable then.
    ///   - run: what to do. It may block.
    public init(
        name: String,
        applicationName: String,
        settings: HookSettings = HookSettings(),
        logger: Logger = Logger(label: "IndicatorBackends.Hook"),
        check: @escaping @Sendable () throws -> Void = {},
        run: @escaping Run
    ) {
        (self.name, self.applicationName, self.settings) = (name, applicationName, settings)
        (self.logger, self.check, self.run) = (logger, check, run)
    }

    /// Includes changes while the indicator is hidden if activities may end then.
    public var delivery: BackendDelivery {
        var delivery = BackendDelivery()
        delivery.includesHidden = !settings.events.isDisjoint(with: [.finished, .attention])
        // One snapshot can have an event of every kind.
        delivery.updateTimeLimit = settings.timeLimit * HookEvent.Kind.allCases.count
        return delivery
    }

    /// Calls the function for each event since the previous update.
    ///
    /// - Throws: if the function cannot work.
    public func show(_ updates: IndicatorUpdates) async throws {
        try check()
        var snapshot: IndicatorSnapshot?
        // What has ended since the last report.
        var ended: OutcomeNotice?
        var nextReport = SuspendingClock.now
        var isOver = false
        while !isOver {
            let event = await updates.next(until: ended == nil ? nil : nextReport)
            isOver = event == nil
            var steps = snapshot.map { [$0] } ?? []
            if case .update(let update) = event {
                steps = update.steps.map(\.snapshot)
                if let notice = notice(of: update), ended?.add(notice) == nil { ended = notice }
            }
            let isDue = ended != nil && (isOver || nextReport <= .now)
            if isDue { nextReport = .now + settings.reportInterval }
            for (index, step) in steps.enumerated() {
                let report = isDue && index == steps.count - 1 ? ended.take() : nil
                for event in events(from: snapshot, to: step, report) {
                    do { try await run(event) { updates.isEnding } } catch {
                        // Not thrown: the update would be delivered again, with its other events.
                        let text = "\(event.title): \(event.text)"
                        logger.warning("'\(name)' did not report '\(text)': \(error)", metadata: ["backend": "\(name)"])
                    }
                }
                snapshot = step
            }
        }
    }

    /// What is to be reported of what has ended.
    private func notice(of update: IndicatorUpdate) -> OutcomeNotice? {
        guard settings.events.contains(.finished) else { return nil }
        let reported = update.finished.filter { settings.whenDone.covers($0, after: settings.after) }
        return OutcomeNotice(reported, omitted: update.omittedFinished, applicationName: applicationName)
    }

    private func events(
        from before: IndicatorSnapshot?,
        to snapshot: IndicatorSnapshot,
        _ ended: OutcomeNotice?
    ) -> [HookEvent] {
        let wasVisible = before?.isVisible == true
        let title = snapshot.label ?? applicationName
        var events: [HookEvent] = []
        func add(_ kind: HookEvent.Kind, _ title: String, _ text: String, _ end: FinishedActivity? = nil) {
            let app = applicationName
            let event = HookEvent(kind: kind, applicationName: app, title: title, text: text, activity: end)
            if settings.events.contains(kind) { events.append(event) }
        }
        if snapshot.isVisible, !wasVisible { add(.shown, title, "In progress") }
        if let ended { add(.finished, ended.title, ended.body, ended.activity) }
        if let question = snapshot.attention, question != before?.attention {
            add(.attention, title, question)
        }
        if !snapshot.isVisible, wasVisible { add(.hidden, applicationName, "No longer in progress") }
        return events
    }
}
