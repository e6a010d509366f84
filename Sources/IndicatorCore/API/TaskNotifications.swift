public import Foundation
import Synchronization

/// The notifications that a library posts when its tasks begin and end.
///
/// ``indicator`` has this package's own, for any code that has tasks; ``alamofire`` has those of the requests of
/// Alamofire 5. <doc:ObservingYourOwnLibrary> has a table of the names. For another library, make a value with its
/// names:
///
/// ```swift
/// let ours = TaskNotifications(
///     starts: [Notification.Name("OurRequestDidStart")],
///     pauses: [Notification.Name("OurRequestDidPause")],
///     stops: [Notification.Name("OurRequestDidFinish")],
///     identity: .userInfo("request")
/// )
/// indicator.observe(ours)
/// ```
public struct TaskNotifications: Sendable {
    /// How to find the task of a notification.
    ///
    /// An object is its own identity and is referenced weakly; its activity ends at the latest with it.
    /// Any other hashable value identifies the task by equality. A notification without an identity is ignored.
    public struct Identity: Sendable {
        let find: @Sendable (Notification) -> Any?

        /// The notification's `object`.
        public static var object: Self { Self { $0.object } }

        /// A value of the notification's `userInfo`.
        public static func userInfo(_ key: String) -> Self {
            Self { $0.userInfo?[key] }
        }

        /// The value that the closure returns. The closure is called on the posting thread.
        public static func custom(_ find: @escaping @Sendable (Notification) -> Any?) -> Self {
            Self(find: find)
        }
    }

    package var starts: [Notification.Name]
    package var pauses: [Notification.Name]
    package var stops: [Notification.Name]
    package var updates: [Notification.Name]
    package var identity: Identity
    /// Derives the label of a task from the notification that starts it. Default: no label.
    public var label: @Sendable (Notification) -> String?
    package var outcome: @Sendable (Notification) -> ActivityOutcome
    package var update: @Sendable (Notification, inout ActivityDetails) -> Void

    /// Makes a set of notifications to observe.
    ///
    /// The closures are called on the posting thread. A task that posts several of the `stops` ends once. If one is
    /// posted before the task begins, because it ends on another thread, a start less than 250 ms later is ignored. A
    /// notification may be in several lists: it starts the task, updates it, pauses it and stops it, in this order.
    ///
    /// - Parameters:
    ///   - starts: the notifications posted when a task begins, or continues after a pause.
    ///   - pauses: the notifications posted when a task pauses.
    ///   - stops: the notifications posted when a task ends: completed, failed or cancelled.
    ///   - updates: the notifications posted when a task has made progress. They neither start nor stop it.
    ///   - identity: how to find the task of a notification.
    ///   - label: derives the label of a task from the notification that starts it.
    ///   - outcome: derives how a task has ended from the notification that stops it. Default: unspecified.
    ///   - update: changes a task's details, on a copy, as a notification of `updates` says. See
    ///     ``Activity/update(_:)``.
    public init(
        starts: [Notification.Name],
        pauses: [Notification.Name] = [],
        stops: [Notification.Name],
        updates: [Notification.Name] = [],
        identity: Identity = .object,
        label: @escaping @Sendable (Notification) -> String? = { _ in nil },
        outcome: @escaping @Sendable (Notification) -> ActivityOutcome = { _ in .unspecified },
        update: @escaping @Sendable (Notification, inout ActivityDetails) -> Void = { _, _ in }
    ) {
        self.starts = starts
        self.pauses = pauses
        self.stops = stops
        self.updates = updates
        self.identity = identity
        self.label = label
        self.outcome = outcome
        self.update = update
    }

    /// This package's own notifications. The task is the `object`, its label, if any, is in
    /// `userInfo[TaskNotifications.labelKey]`. Its progress is in `userInfo[TaskNotifications.progressKey]`, or, in
    /// bytes, in `completedBytesKey` and, if known, `totalBytesKey`: numbers of any type. What is absent is unchanged.
    /// Whether it waits for its turn is in `waitingKey`. How it ended is in `userInfo[TaskNotifications.outcomeKey]` of
    /// its completion.
    public static var indicator: Self {
        Self(
            starts: [.indicatorTaskDidResume],
            pauses: [.indicatorTaskDidSuspend],
            stops: [.indicatorTaskDidComplete],
            updates: [.indicatorTaskDidProgress],
            label: { $0.userInfo?[labelKey] as? String },
            outcome: { notification in
                switch notification.userInfo?[outcomeKey] {
                case let outcome as ActivityOutcome: outcome
                case let error as any Error: ActivityOutcome(error)
                default: .unspecified
                }
            },
            update: { notification, details in
                func number(_ key: String) -> Double? { notification.userInfo?[key].flatMap(Self.number) }
                if let label = notification.userInfo?[labelKey] as? String { details.label = label }
                if let progress = number(progressKey) { details.progress = progress }
                let (completed, total) = (number(completedBytesKey), number(totalBytesKey))
                if completed != nil || total != nil { details.unit = .bytes }
                if let completed { details.completed = Int(clamping: Int128(completed)) }
                if let total { details.total = Int(clamping: Int128(total)) }
                if let isWaiting = notification.userInfo?[waitingKey] as? Bool { details.isWaiting = isWaiting }
            }
        )
    }

    /// The value of a number of any type, if it is finite.
    private static func number(_ value: Any) -> Double? {
        let number: Double? =
            switch value {
            case let value as any BinaryInteger: Double(value)
            case let value as any BinaryFloatingPoint: Double(value)
            case let value as NSNumber: value.doubleValue
            default: nil
            }
        return number.flatMap { $0.isFinite && abs($0) < 0x1p64 ? $0 : nil }
    }

    /// Alamofire 5's notifications of its requests: `didResume`, `didSuspend`, `didCancel` and `didFinish`, with the
    /// request in `userInfo`. A request that is retried is one activity, with all of its tasks. One that is cancelled
    /// has the outcome `cancelled`; while it waits for its adapter or its retry, it posts no `didFinish`.
    ///
    /// A request's label is its method and URL, such as "GET https://example.org/items", from its description, without
    /// the URL's credentials, query and fragment, which may contain secrets.
    ///
    /// The names are from Alamofire's `Source/Core/Notifications.swift`; Alamofire itself is not needed.
    public static var alamofire: Self {
        func name(_ event: String) -> Notification.Name {
            Notification.Name("org.alamofire.notification.name.request.\(event)")
        }
        return Self(
            starts: [name("didResume")],
            pauses: [name("didSuspend")],
            stops: [name("didCancel"), name("didFinish")],
            identity: .userInfo("org.alamofire.notification.key.request"),
            label: { notification in
                let request = notification.userInfo?["org.alamofire.notification.key.request"]
                return (request as? any CustomStringConvertible).flatMap {
                    requestLabel(fromDescription: $0.description)
                }
            },
            outcome: { [cancellation = name("didCancel")] in $0.name == cancellation ? .cancelled : .unspecified }
        )
    }

    /// The method and URL at the beginning of the description of Alamofire's `Request`: "GET https://… (200)".
    static func requestLabel(fromDescription description: String) -> String? {
        let words = description.split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].allSatisfy({ $0.isASCII && $0.isUppercase }),
            var url = URLComponents(string: String(words[1])), url.scheme != nil
        else { return nil }
        (url.query, url.fragment, url.user, url.password) = (nil, nil, nil, nil)
        return url.string.map { "\(words[0]) \($0)" }
    }

    /// The key of a label, a `String`. See ``indicator``.
    public static var labelKey: String { "indicator.label" }

    /// The key of a progress of 0…1. See ``indicator``.
    public static var progressKey: String { "indicator.progress" }

    /// The key of the number of bytes done. See ``indicator``.
    public static var completedBytesKey: String { "indicator.completedBytes" }

    /// The key of the total number of bytes. See ``indicator``.
    public static var totalBytesKey: String { "indicator.totalBytes" }

    /// The key of a `Bool`, whether a task waits for its turn. See ``indicator`` and ``ActivityDetails/isWaiting``.
    public static var waitingKey: String { "indicator.isWaiting" }

    /// The key of an ``ActivityOutcome``, or of an error that is converted to one. See ``indicator``.
    public static var outcomeKey: String { "indicator.outcome" }
}

extension Notification.Name {
    /// A task, the notification's `object`, begins or continues.
    public static let indicatorTaskDidResume = Notification.Name("indicatorTaskDidResume")
    /// A task, the notification's `object`, pauses.
    public static let indicatorTaskDidSuspend = Notification.Name("indicatorTaskDidSuspend")
    /// A task, the notification's `object`, has made progress.
    public static let indicatorTaskDidProgress = Notification.Name("indicatorTaskDidProgress")
    /// A task, the notification's `object`, has ended: completed, failed or cancelled.
    public static let indicatorTaskDidComplete = Notification.Name("indicatorTaskDidComplete")
}

/// The observation of a library's notifications. See ``IndicatorManager/observe(_:in:)``.
///
/// It ends with the indicator, which it does not keep working.
public final class NotificationObservation: Sendable, ManagerResource {
    private struct State: @unchecked Sendable {
        // `@unchecked`: the tokens are opaque and only passed back to their notification center, on any thread.
        var tokens: [any NSObjectProtocol] = []
        /// What it reports to; `nil` when it has been cancelled.
        var engine: IndicatorEngine?
    }

    private let center: NotificationCenter
    private let identity: TaskNotifications.Identity
    private let state: Locked<State>
    /// The most recent class: checking whether a type is a class takes a search, and most tasks have the same class.
    private let lastClass = Atomic<UInt>(0)

    init(of identity: TaskNotifications.Identity, in center: NotificationCenter, engine: IndicatorEngine) {
        self.center = center
        self.identity = identity
        state = Locked(State(engine: engine))
    }

    /// Whether the observation has been cancelled.
    package var isCancelled: Bool { state.withLock { $0.engine == nil } }

    func add(_ name: Notification.Name, handler: @escaping @Sendable (Notification) -> Void) {
        let new = State(tokens: [center.addObserver(forName: name, object: nil, queue: nil, using: handler)])
        let isCancelled = state.withLock { state in
            if state.engine != nil { state.tokens += new.tokens }
            return state.engine == nil
        }
        if isCancelled { center.removeObserver(new.tokens[0]) }
    }

    /// Stops observing. Tasks in progress remain so until they are released or end otherwise.
    public func cancel() {
        let old = state.withLock { state in
            defer { state = State() }
            return state
        }
        for token in old.tokens { center.removeObserver(token) }
        old.engine?.forget(self)
    }

    package func managerHasEnded() async { cancel() }

    /// The identity of a notification's task; `nil` if it has none, or one that is neither an object nor hashable.
    func key(of notification: Notification) -> ActivityKey? {
        guard let task = identity.find(notification) else { return nil }
        let type = type(of: task)
        let typeID = UInt(bitPattern: ObjectIdentifier(type))
        if lastClass.load(ordering: .relaxed) != typeID {
            guard type is AnyClass else { return (task as? any Hashable).map { ActivityKey($0) } }
            lastClass.store(typeID, ordering: .relaxed)
        }
        return .object(ActivityObject(object: Self.object(task), role: .notified))
    }

    /// Converts an instance of a class to an object without the search that `as` performs.
    private static func object<Instance>(_ instance: Instance) -> AnyObject {
        unsafeBitCast(instance, to: AnyObject.self)
    }
}
