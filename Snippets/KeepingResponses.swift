// Answering requests from the cache.

// snippet.hide
import Foundation
import NetworkKit

let server = URL(string: "http://127.0.0.1:8080")!
// snippet.show
// snippet.cache
let cache = ResponseCache(app: "my-app")
let client = NetworkClient(cache: cache)
let first = try await client.send(URLRoute(server, .get("icon/3.png")))
let second = try await client.send(URLRoute(server, .get("icon/3.png")))
print(first.source, second.source)  // network cache
// snippet.end

// snippet.capacities
let small = ResponseCache(
    memoryCapacity: 1 << 20,
    diskCapacity: 5 << 20,
    directory: URL(filePath: "/var/cache/my-app/icons")
)
// snippet.end

// snippet.default
let icons = ResponseCache(directory: URL(filePath: "/var/cache/my-app/icons"), defaultFreshness: 7 * 86_400)
// snippet.end

// snippet.policies
let news = Endpoint.get("news")
let asked = news.with(\.cachePolicy, .reloadRevalidatingCacheData)
let offline = news.with(\.cachePolicy, .returnCacheDataDontLoad)
let fresh = news.with(\.cachePolicy, .reloadIgnoringLocalCacheData)
// snippet.end

// snippet.clearing
await cache.removeAll()
// snippet.end
// snippet.hide
print(small, icons, [asked, offline, fresh].map(\.timeout))
