// Calling a web service: routes, requests, responses.

// snippet.hide
import Foundation
import IndicatorBackends
import Logging  // hidden
import NetworkKit
import NetworkKitImages  // hidden

private let server = URL(string: "http://127.0.0.1:8080")!  // hidden
let token = "secret"
let password = "secret"
let (key, nextKey) = ("sha256/…", "sha256/…")
let certificate = URL(filePath: "/etc/my-app/client.pem")

struct Post: Codable, Sendable {
    var title: String
    var body: String
}

struct Feed: Decodable, Sendable {
    struct Entry: Decodable, Sendable {
        struct Name: Decodable, Sendable { var label: String }
        enum CodingKeys: String, CodingKey { case name = "im:name" }
        var name: Name
    }
    struct Entries: Decodable, Sendable { var entry: [Entry] }
    var feed: Entries
}
// snippet.show
// snippet.routes
enum Store: RequestRoute {
    case topFree(limit: Int)
    case search(term: String)
    case createPost(Post)
    case upload(MultipartForm)

    var baseURL: URL { server }

    var request: Endpoint {
        switch self {
        case .topFree(let limit): .get("us/rss/topfreeapplications/limit=\(limit)/json")
        case .search(let term): .get("search", query: ["term": .string(term), "media": ["app", "game"]])
        case .createPost(let post): .post("post", body: .json(.encoding(post)))
        case .upload(let form): .post("post", body: .multipart(form))
        }
    }
}
// snippet.end

func send() async throws {
    // snippet.show
    // snippet.indicator
    let indicator = IndicatorManager.configured(for: "my-app")
    let client = NetworkClient()
    _ = try await client.send(Store.search(term: "clocks & kites"))
    // snippet.end

    // snippet.hide
    try await use(indicator)
}

func use(_ indicator: IndicatorManager) async throws {
    // snippet.show
    // snippet.client
    let client = NetworkClient(interceptors: [.bearerToken(token)], cache: ResponseCache(app: "my-app"))
    let feed = try await client.send(Store.topFree(limit: 10)).decode(Feed.self)
    let json = try await client.send(Store.topFree(limit: 10)).json()
    let name = json.feed.entry[0]["im:name"].label.string
    // snippet.end

    // snippet.errors
    do {
        _ = try await client.send(Store.createPost(Post(title: "Hello", body: "World")))
    } catch NetworkError.unacceptableStatus(let failure) where failure.status == 422 {
        print("refused: \(String(decoding: failure.data, as: UTF8.self))")
    } catch NetworkError.transport(let failure) {
        print("not reached: \(failure.reason)")
    }
    // snippet.end

    // snippet.careful
    let careful = NetworkClient(
        interceptors: [.bearerToken(token, hosts: ["store.example.com"]), .header("Accept-Language", "en")],
        retry: RequestRetry(maximumAttempts: 4, initialDelay: .milliseconds(250))
    )
    let question = Endpoint.get("status").with(\.timeout, .seconds(5)).with(\.label, "Asking whether all is well")
    let route = URLRoute(server, question)
    let status = try await careful.send(route).status
    // snippet.end

    // snippet.refresh
    let login = NetworkClient()
    let refreshed = NetworkClient.Interceptor.refreshedToken(token, hosts: ["store.example.com"]) { _ in
        try await login.send(URLRoute(server, .post("refresh"))).string()
    }
    let api = NetworkClient(interceptors: [refreshed])
    // snippet.end

    // snippet.trust
    var options = NetworkClient.Options()
    options.trust["store.example.com"] = .init(pinnedKeys: [key, nextKey], clientCertificate: certificate)
    // snippet.end

    // snippet.events
    options.logger = Logger(label: "my-app.requests")
    // snippet.end

    // snippet.secrets
    let service = NetworkClient(interceptors: [
        .header("X-App-Version", "2.1", isSensitive: false),
        .credentials(Credentials(user: "me", password: password), hosts: ["store.example.com"]),
    ])
    // snippet.end

    // snippet.pausing
    let task = client.start(Store.search(term: "clocks & kites"))
    task.suspend()
    task.resume()
    let answer = try await task.response.string()
    // snippet.end
    // snippet.hide
    print(feed.feed.entry.count, name ?? "", status, answer)
    for client in [api, service] { client.cancelAllRequests() }
    await indicator.shutdown()
}

func logIn(_ client: NetworkClient, user: String) async throws {
    // snippet.show
    // snippet.login
    let login = Endpoint.post("login", body: .form(["user": .string(user)])).with(\.followsRedirects, false)
    let target = try await client.send(URLRoute(server, login)).headers[.location]
    // snippet.end
    // snippet.hide
    print(target ?? "")
}

func keepCookies(of browser: NetworkClient) async throws {
    // snippet.show
    // snippet.cookies
    let cookies = try JSONEncoder().encode(await browser.cookies())
    await browser.addCookies(try JSONDecoder().decode([Cookie].self, from: cookies))
    await browser.removeCookies()
    // snippet.end
    // snippet.hide
}

#if DBus
func showIcon(_ url: URL, client: NetworkClient, indicator: IndicatorManager, folder: URL) async throws {
    // snippet.show
    // snippet.icon
    let icon = try await client.send(URLRoute(url)).image()
    let file = folder.appending(path: "icon.png")
    try icon.writePNG(to: file)
    let settings = DesktopNotificationSettings(icon: file.path)
    indicator.addBackend(DesktopNotificationBackend(applicationName: "my-app", settings: settings))
    // snippet.end
    // snippet.hide
}
#endif

try await send()
