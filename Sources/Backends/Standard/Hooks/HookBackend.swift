import BackendConfiguration
public import DisplayText
public import IndicatorCore
package import IndicatorThreads
import Synchronization

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
    var isUrgent: Bool { kind == .attention || activity?.outcome.isFailure == true }
}

/// Which events a hook reports.
public struct HookSettings: Sendable, Hashable {
    /// The events. Default: ``HookEvent/Kind/finished`` and ``HookEvent/Kind/attention``.
    public var events: Set<HookEvent.Kind>
    /// Which outcomes count as finished. Default: `always`. Cancelled activities never do.
    public var whenDone: WhenDone
    /// How long an activity must have lasted to count as finished. Default: 10 seconds.
    public var after: Duration

    /// Makes settings.
    public init(
        events: Set<HookEvent.Kind> = [.finished, .attention],
        whenDone: WhenDone = .always,
        after: Duration = .seconds(10)
    ) {
        self.events = events
        self.whenDone = whenDone
        self.after = after
    }
}

/// Calls a function when the indicator is shown or hidden, when an activity ends, or when one waits for the user.
///
/// The function is called on the backend's own thread, for one event at a time. Activities that end together are one
/// event, as in a notification. An event whose function throws is not repeated: the backend is unavailable for a
/// moment, and the error is logged. In a config file, the kinds `command` and `webhook` are hooks.
public final class HookBackend: ConnectedBackend {
    /// What to do for an event. The function that it is passed returns whether the backend is being ended: what
    /// follows is lost otherwise.
    typealias Run = @Sendable (HookEvent, @Sendable () -> Bool) async throws -> Void

    /// The name that the config file and the diagnostics use.
    public let name: String

    private struct State {
        var isVisible = false
        var attention: String?
        var control: IndicatorControl?
    }

    private let applicationName: String
    private let settings: HookSettings
    private let timeLimit: Duration
    private let run: Run
    private let check: @Sendable () throws -> Void
    private let state = Locked(State())
    private let isEnding = Atomic(false)
    package let thread: ServiceThread

    /// Makes a backend.
    ///
    /// - Parameters:
    ///   - name: the name that the diagnostics use.
    ///   - applicationName: the name of the app.
    ///   - settings: which events call the function.
    ///   - timeLimit: how long a call may take before the backend counts as stalled. Default: 30 seconds.
    ///   - run: what to do. It may block.
    public convenience init(
        name: String,
        applicationName: String,
        settings: HookSettings = HookSettings(),
        timeLimit: Duration = .seconds(30),
        run: @escaping @Sendable (HookEvent) async throws -> Void
    ) {
        self.init(
            name: name,
            applicationName: applicationName,
            settings: settings,
            timeLimit: timeLimit,
            check: {},
            run: { event, _ in try await run(event) }
        )
    }

    /// - Parameter check: throws if the function cannot work.
    init(
        name: String,
        applicationName: String,
        settings: HookSettings,
        timeLimit: Duration,
        check: @escaping @Sendable () throws -> Void,
        run: @escaping Run
    ) {
        self.name = name
        self.applicationName = applicationName
        self.settings = settings
        self.timeLimit = timeLimit
        self.check = check
        self.run = run
        thread = ServiceThread(name: "ind-\(name)")
    }

    /// Includes changes while the indicator is hidden if activities may end then.
    public var delivery: BackendDelivery {
        var delivery = BackendDelivery()
        delivery.includesHidden = !settings.events.isDisjoint(with: [.finished, .attention])
        // One snapshot can have an event of every kind.
        delivery.updateTimeLimit = timeLimit * HookEvent.Kind.allCases.count
        return delivery
    }

    /// Keeps the control, through which a failure is reported.
    public func attach(to control: IndicatorControl) { state.withLock { $0.control = control } }

    /// Throws if the function cannot work.
    public func start() async throws { try check() }

    /// Calls the function for each event since the previous snapshot. The last error is the backend's; it is thrown
    /// only if the backend has no indicator, whose runner would deliver the snapshot, with its events, again.
    public func update(_ snapshot: IndicatorSnapshot) async throws {
        var failure: (any Error)?
        for event in snapshot.withTransitions.flatMap(events) {
            do { try await run(event) { self.isEnding.load(ordering: .relaxed) } } catch { failure = error }
        }
        guard let failure else { return }
        guard let control = state.withLock(\.control) else { throw failure }
        control.surfaceWasLost("\(failure)")
    }

    /// Lets a call that waits for its program return.
    package func willStop() { isEnding.store(true, ordering: .relaxed) }

    /// Does nothing: there is nothing to restore.
    public func stop() async {}

    private func events(in snapshot: IndicatorSnapshot) -> [HookEvent] {
        let before = state.withLock { state in
            defer { (state.isVisible, state.attention) = (snapshot.isVisible, snapshot.attention) }
            return state
        }
        let title = snapshot.label ?? applicationName
        var events: [HookEvent] = []
        func add(_ kind: HookEvent.Kind, _ title: String, _ text: String, _ activity: FinishedActivity? = nil) {
            let event = HookEvent(
                kind: kind,
                applicationName: applicationName,
                title: title,
                text: text,
                activity: activity
            )
            if settings.events.contains(kind) { events.append(event) }
        }
        if snapshot.isVisible, !before.isVisible { add(.shown, title, "In progress") }
        let finished = snapshot.finished.filter { settings.whenDone.covers($0, after: settings.after) }
        if let notice = OutcomeNotice(finished, applicationName: applicationName) {
            add(.finished, notice.title, notice.body, notice.activity)
        }
        if let question = snapshot.attention, question != before.attention {
            add(.attention, title, question)
        }
        if !snapshot.isVisible, before.isVisible { add(.hidden, applicationName, "No longer in progress") }
        return events
    }
}
