import Foundation
import IndicatorCore
import IndicatorTesting
import IndicatorTracking
import Logging
import NetworkKit

// Typical usages of the package, compiled with each setting that an app may have. They do nothing useful.

/// A type that is not `Sendable`.
nonisolated final class Document {
    var pages: [String] = []
}

nonisolated func fetchDocument() async throws -> sending Document { Document() }

/// An actor that stores values that are not `Sendable`.
actor Library {
    private let indicator: IndicatorManager
    private var document: Document?

    init(indicator: IndicatorManager) {
        self.indicator = indicator
    }

    private func fetch() async throws -> Document { document ?? Document() }

    func load() async throws {
        document = try await indicator.withActivity("Loading") { try await self.fetch() }
        document = indicator.withActivity("Copying") { document }
    }

    func loadWithProgress() async throws {
        document = try await indicator.withActivity("Loading", total: 2) { activity in
            let document = try await fetch()
            activity.advance()
            return document
        }
    }

    func loadInGroup() async throws {
        document = try await indicator.withActivity("Loading", total: 1) { group in
            try await group.withActivity("First page") { try await self.fetch() }
        }
        try await indicator.withActivity("Downloading", total: 300, unit: .bytes) { group in
            group.withActivity("a", total: 200, unit: .bytes) { $0.advance(by: 200) }
            document = try await group.withActivity("b") { try await fetch() }
            try group.withActivity("c") { try Task.checkCancellation() }
        }
    }

    func loop(over chunks: AsyncStream<Data>) async throws {
        for name in ["a", "b"].tracked("Loading", in: indicator) { document?.pages.append(name) }
        for await chunk in chunks.tracked("Receiving", in: indicator, unit: .bytes, by: \.count) {
            document?.pages.append("\(chunk.count)")
        }
    }

    /// The loop fails if its body throws.
    func forEach(over chunks: AsyncStream<Data>) async throws {
        ["a", "b"].tracked("Copying", in: indicator).forEach { document?.pages.append($0) }
        try ["a", "b"].tracked("Checking", in: indicator).forEach { if $0.isEmpty { throw CancellationError() } }
        try await ["a", "b"].tracked("Loading", in: indicator).forEach { name in
            document?.pages.append(name)
            document = try await fetch()
        }
        try await [Document()].tracked("Saving", in: indicator).forEach { self.document = try await self.saved($0) }
        try await chunks.tracked("Receiving", in: indicator, unit: .bytes, by: \.count).forEach { chunk in
            document = try await fetch()
            document?.pages.append("\(chunk.count)")
        }
    }

    private func saved(_ document: Document) async throws -> Document { document }

    func loadInScope() async throws {
        let activity = indicator.begin("Loading")
        activity.progress = 0.5
        document = try await fetch()
        activity.end(.succeeded)
    }

    /// `Activity` ends at the end of the scope anyway. With an outcome that is known later:
    func loadWithOutcome() async throws {
        var outcome = ActivityOutcome.cancelled
        let activity = ManagedActivity("Loading", in: indicator)
        defer { activity.end(outcome) }
        document = try await fetch()
        outcome = .succeeded
    }

    func load(with tracker: ActivityTracker<String>) async throws {
        document = try await tracker.withActivity("Loading") { try await self.fetch() }
        document = try await tracker.withActivity("Loading") { activity in
            activity.update("Loading more")
            return try await self.fetch()
        }
        document = tracker.withActivity("Copying") { document }
    }

    func loop(over lines: AsyncStream<String>, in tracker: ActivityTracker<String>) async {
        for await line in lines.tracked(in: tracker, value: { $0 }) { document?.pages.append(line) }
    }

    func load(with client: NetworkClient, from url: URL) async throws {
        let response = try await client.send(URLRoute(url), in: indicator) { _ in }
        document?.pages = try response.decode([String].self)
        for try await data in try await client.bytes(URLRoute(url)) { document?.pages.append("\(data.count)") }
    }

    func refresh(with login: NetworkClient, from url: URL) async throws {
        var options = NetworkClient.Options()
        options.logger = Logger(label: "requests")
        let refreshed = NetworkClient.Interceptor.refreshedToken { _ in
            try await login.send(URLRoute(url, .post("refresh"))).string()
        }
        let client = NetworkClient(interceptors: [refreshed], options: options)
        let body = RouteBody.file(url)
        let stream = try await client.bytes(URLRoute(url, .post("events", body: body)))
        for try await piece in stream { document?.pages.append("\(piece.count)") }
    }
}

/// A view model.
@MainActor final class Editor {
    private let indicator: IndicatorManager
    private var document: Document?
    private var present: ManagedActivity?
    private var text: String?

    init(indicator: IndicatorManager) {
        self.indicator = indicator
    }

    private func fetch() async throws -> Document { document ?? Document() }

    func load() async throws {
        document = try await indicator.withActivity("Loading") { try await self.fetch() }
        document = try await indicator.withActivity("Loading") { group in
            try await group.withActivity("First page", total: 1) { activity in
                defer { activity.advance() }
                return try await self.fetch()
            }
        }
    }

    func buttonPressed() {
        present = ManagedActivity("Saving", in: indicator)
        Task {
            defer { present?.end() }
            do { try await load() } catch { present?.end(ActivityOutcome(error)) }
        }
    }

    /// The result of child tasks is assigned on the main actor.
    func loadPages(_ names: [String]) async throws {
        document = try await indicator.withActivity("Loading", total: names.count) { group in
            try await withThrowingTaskGroup(of: String.self) { tasks in
                for name in names {
                    tasks.addTask { try await group.withActivity(name) { try await page(name) } }
                }
                let document = Document()
                for try await page in tasks { document.pages.append(page) }
                return document
            }
        }
    }

    func copyPages() async throws {
        try await document?.pages.tracked("Copying", in: indicator).forEach { page in
            text = page
            document = try await fetch()
        }
    }

    func follow() async {
        for await snapshot in indicator.snapshots { text = snapshot.label }
    }

    func show(_ tracker: ActivityTracker<String>) {
        tracker.attach(to: indicator, label: { "Loading \($0)" }, progress: { _ in 0.5 })
        if let present { tracker.attach(to: present) }
    }
}

@concurrent func page(_ name: String) async throws -> String { name }

/// A type without isolation, whose caller waits.
nonisolated struct Loader {
    let indicator: IndicatorManager

    func fetch() async throws -> Document { Document() }

    func load() async throws -> Document {
        try await indicator.withActivity("Loading") { try await fetch() }
    }

    func loadAll(into documents: [Document]) async throws {
        try await documents.tracked("Loading", in: indicator).forEach { $0.pages = try await fetch().pages }
    }

    func load(into document: Document) async throws {
        try await indicator.withActivity("Loading") { document.pages = try await fetch().pages }
    }
}

/// An app's own backend.
nonisolated final class LoggingBackend: IndicatorBackend {
    let name = "logging"
    private let logger = Logger(label: "usages")

    func show(_ updates: IndicatorUpdates) async {
        for await update in updates { logger.info("\(update.snapshot.activityCount)") }
    }
}

/// A library's notifications, identities, objects and a test's backend.
func observe(_ indicator: IndicatorManager, _ session: AnyObject) async {
    let notifications = TaskNotifications(
        starts: [Notification.Name("OurRequestDidStart")],
        stops: [Notification.Name("OurRequestDidFinish")],
        identity: .custom { $0.userInfo?["request"] },
        label: { ($0.userInfo?["path"] as? String).map { "GET \($0)" } }
    )
    indicator.observe(notifications)
    indicator.start("request-7", label: "GET /")
    indicator.update("request-7") { $0.progress = 0.5 }
    indicator.stop("request-7", .succeeded)
    indicator.track(session, label: "Session")
    let backend = InMemoryBackend()
    indicator.addBackend(LoggingBackend())
    indicator.addBackend(backend)
    _ = await backend.first { $0.isVisible }
}
