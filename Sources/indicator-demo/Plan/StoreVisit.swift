import Foundation
import IndicatorCore
import NetworkKit
import NetworkKitImages

/// A visit to the app store: the feeds, their icons, the icons again, and two posts.
final class StoreVisit: Sendable {
    private struct State: Sendable {
        var icons: [URL] = []
        var pictures: [URL: Data] = [:]
    }

    private let state = Locked(State())

    /// The number of apps in a feed.
    private static let limit = 10

    // MARK: - Feeds

    /// The top free apps.
    func freeFeed(_ server: URL) -> PlannedStep {
        feed(Store.topFree(limit: Self.limit, server: server), title: "GET top free apps")
    }

    /// The top paid apps.
    func paidFeed(_ server: URL) -> PlannedStep {
        feed(Store.topPaid(limit: Self.limit, server: server), title: "GET top paid apps")
    }

    private func feed(_ route: Store, title: String) -> PlannedStep {
        PlannedStep(title: title) { [self] context in
            let entries = try await context.send(route).decode(StoreFeed.self).feed.entry
            try check(entries.count == Self.limit, "the feed has \(entries.count) apps, not \(Self.limit)")
            let isComplete = entries.allSatisfy { entry in
                [entry.name, entry.artist, entry.price].allSatisfy { !$0.label.isEmpty }
            }
            try check(isComplete, "an app of the feed has no name, artist or price")
            let icons = entries.compactMap { $0.images.last.flatMap { URL(string: $0.label) } }
            try check(icons.count == entries.count, "an app of the feed has no icon")
            state.withLock { $0.icons += icons }
        }
    }

    // MARK: - Icons

    /// The icons of both feeds.
    var icons: PlannedStep {
        PlannedStep(title: "GET icons") { [self] context in
            for (url, response) in try await fetchIcons(context) {
                let image = try await response.image()
                try check(image.width > 0 && image.height > 0, "\(url) is an empty image")
                state.withLock { $0.pictures[url] = response.data }
            }
        }
    }

    /// The same icons, now cached.
    var iconsAgain: PlannedStep {
        PlannedStep(title: "GET icons again") { [self] context in
            let pictures = state.withLock { $0.pictures }
            for (url, response) in try await fetchIcons(context) {
                try check(response.source != .network, "\(url) was loaded again, not from the cache")
                try check(response.data == pictures[url], "\(url) is a different picture the second time")
            }
        }
    }

    private func fetchIcons(_ context: StepContext) async throws -> [URL: NetworkResponse] {
        let urls = Set(state.withLock { $0.icons })
        try check(!urls.isEmpty, "there are no icons to fetch without the feeds")
        return try await withThrowingTaskGroup { group in
            for url in urls { group.addTask { (url, try await context.send(Store.icon(url))) } }
            return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    // MARK: - Posts

    /// Posts JSON, which the server echoes.
    func post(_ server: URL) -> PlannedStep {
        PlannedStep(title: "POST /post (JSON)") { context in
            let (title, body) = ("Größe & Maß: 100 %", "a \"quoted\" line\nand \\ another, in 日本語")
            let route = Store.createPost(title: title, body: body, server: server)
            let echo = try await context.send(route).json()
            let sent: JSON = ["title": JSON(title), "body": JSON(body)]
            try check(echo.json == sent, "sent \(sent) as JSON, but the server received \(echo.json)")
            let type = echo.headers["Content-Type"]
            try check(type == "application/json", "sent application/json, but the server received \(type)")
        }
    }

    /// Posts a form with a text and a picture, which the server echoes.
    func upload(_ server: URL) -> PlannedStep {
        PlannedStep(title: "POST /post (picture)") { [self] context in
            let picture = state.withLock { $0.pictures.min { $0.key.path < $1.key.path }?.value } ?? Self.pixel
            let title = "An icon, \"as it came\""
            var form = MultipartForm()
            form.append(title, name: "title")
            form.append(picture, name: "picture", fileName: "icon.png")
            let echo = try await context.send(Store.upload(form, server: server)).json()
            try check(
                echo.form == ["title": JSON(title)],
                "sent the field 'title' with \(JSON(title)), but the server received \(echo.form)"
            )
            let sent = JSON("data:image/png;base64,\(picture.base64EncodedString())")
            try check(
                echo.files == ["picture": sent],
                "sent a picture of \(picture.count) bytes, but the server received something else"
            )
        }
    }

    /// A PNG of one pixel, for a server that has no icons.
    private static let pixel =
        Data(
            base64Encoded:
                "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVQI12P4z8AAAAMBAQAY3Y2wAAAAAElFTkSuQmCC"
        ) ?? Data()
}
