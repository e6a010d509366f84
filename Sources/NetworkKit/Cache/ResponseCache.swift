public import Foundation
import HTTPTypes
import IndicatorCore

/// A private HTTP cache (RFC 9111), in memory and on disk.
///
/// Only complete responses to GET with status 200, 203, 204, 404 or 410 and without a redirect are stored, and served
/// only to requests with the same secrets. See <doc:KeepingResponses>.
public final class ResponseCache: Sendable {
    private let memory: Locked<LeastRecentlyUsed<CachedResponse>>
    private let disk: CacheDisk?
    /// Without those of the client.
    let rules: CachedResponse.Rules
    private let now: @Sendable () -> Date
    /// Why the given folder is not used: it cannot be created, or another user owns it or can write to it.
    public let diskProblem: NetworkError?

    /// Creates a cache. Capacities are in bytes.
    ///
    /// The folder, for the files of this cache only, is created if it does not exist; `nil`: only in memory. The
    /// default freshness is for how many seconds a response is fresh if the server does not specify it (RFC 9111
    /// §4.2.2); with 0, it is stored only if it can be revalidated. Responses age by `now`, which is for tests.
    public init(
        memoryCapacity: Int = 4 << 20,
        diskCapacity: Int = 20 << 20,
        directory: URL?,
        defaultFreshness: Double = 0,
        now: @escaping @Sendable () -> Date = { Date() }
    ) {
        memory = Locked(LeastRecentlyUsed(capacity: memoryCapacity))
        do {
            disk = try directory.map { try CacheDisk(directory: $0, capacity: diskCapacity) }
            diskProblem = nil
        } catch {
            disk = nil
            diskProblem = error as? NetworkError
        }
        rules = .init(hash: disk?.hash ?? KeyedHash(), defaultFreshness: defaultFreshness)
        self.now = now
    }

    /// Creates a cache with the default capacities and its files in `$XDG_CACHE_HOME/<app>/network-kit` (by default
    /// `~/.cache/<app>/network-kit`).
    public convenience init(app: String) {
        let environment = ProcessInfo.processInfo.environment["XDG_CACHE_HOME"].flatMap { $0.first == "/" ? $0 : nil }
        let base = environment ?? FileManager.default.homeDirectoryForCurrentUser.appending(path: ".cache").path
        self.init(directory: URL(filePath: base).appending(path: app).appending(path: "network-kit"))
    }

    /// Removes all entries.
    public func removeAll() async {
        memory.withLock { $0 = LeastRecentlyUsed(capacity: $0.capacity) }
        if let disk { try? await blocking { disk.removeAll() } }
    }

    // MARK: - Answering

    /// Answers a request from the cache or from the server. With a body, the URL does not identify the response.
    func respond(
        to request: NetworkRequest,
        hasBody: Bool = false,
        _ rules: CachedResponse.Rules,
        _ exchange: (NetworkRequest) async throws -> (head: ResponseHead, data: Data)
    ) async throws -> NetworkResponse {
        let control = CacheControl(request.headers[.cacheControl])
        let mayLoad = request.cachePolicy != .returnCacheDataDontLoad
        guard let key = request.cacheKey, !hasBody else {
            guard mayLoad else { throw NetworkError.notInCache(request.url) }
            let response = try await exchange(request)
            // The request has invalidated the entry (RFC 9111 §4.4).
            if !request.method.isSafe, response.head.status.code < 400 { await remove(request.url.absoluteString) }
            return NetworkResponse(response.head, response.data)
        }
        let found = request.cachePolicy == .reloadIgnoringLocalCacheData ? nil : await read(key)
        let kept = found?.matches(request, rules) == true ? found : nil
        if let kept, kept.answers(request, control, rules, at: now()) {
            return NetworkResponse(kept, url: request.url, source: .cache)
        }
        guard mayLoad else { throw NetworkError.notInCache(request.url) }
        let requestTime = now()
        let asked = kept?.hasValidator == true ? kept : nil
        var response = try await exchange(asked.map(request.conditional) ?? request)
        if let asked, response.head.status == .notModified {
            if let updated = asked.updated(with: response.head, requestTime: requestTime, responseTime: now()) {
                if control.noStore || CacheControl(response.head.headers[.cacheControl]).noStore {
                    await remove(key)
                } else {
                    await write(updated, for: key)
                }
                return NetworkResponse(updated, url: request.url, source: .revalidatedCache)
            }
            response = try await exchange(request)
        }
        let new = CachedResponse(response, to: request, rules, requestTime: requestTime, responseTime: now())
        if let new, !control.noStore {
            await write(new, for: key)
        } else if kept != nil, response.head.status.code < 500 {
            // The new response replaces the stored one (RFC 9111 §4.3.3).
            await remove(key)
        }
        return NetworkResponse(response.head, response.data)
    }

    /// Of an entry in memory, the disk is not asked, which may hang.
    private func read(_ key: String) async -> CachedResponse? {
        if let response = memory.withLock({ $0.use(key) }) { return response }
        guard let disk, let response = try? await blocking({ disk.read(key) }) else { return nil }
        memory.withLock { $0.insert(response, for: key, cost: response.cost) }
        return response
    }

    private func write(_ response: CachedResponse, for key: String) async {
        memory.withLock { $0.insert(response, for: key, cost: response.cost) }
        if let disk { try? await blocking { disk.write(response, for: key) } }
    }

    private func remove(_ key: String) async {
        memory.withLock { $0.remove(key) }
        if let disk { try? await blocking { disk.remove(key) } }
    }
}

extension NetworkResponse {
    fileprivate init(_ response: CachedResponse, url: URL, source: Source) {
        self.init(
            url: url,
            status: .init(code: response.status),
            headers: response.headers,
            data: response.body,
            source: source
        )
    }
}

/// Entries with costs, in two generations. When the younger one has half of the capacity, it becomes the older one, and
/// what was not used since the last time is evicted.
struct LeastRecentlyUsed<Value: Sendable>: Sendable {
    private typealias Entries = [String: (value: Value, cost: Int)]

    let capacity: Int
    private var (young, old): (Entries, Entries) = ([:], [:])
    private var cost = 0

    init(capacity: Int) { self.capacity = capacity }

    /// Returns a value and marks it as used.
    mutating func use(_ key: String) -> Value? {
        if let entry = young[key] { return entry.value }
        guard let entry = old[key] else { return nil }
        insert(entry.value, for: key, cost: entry.cost)
        return entry.value
    }

    /// Inserts a value, unless it exceeds half of the capacity.
    mutating func insert(_ value: Value, for key: String, cost newCost: Int) {
        remove(key)
        guard newCost <= capacity / 2 else { return }
        if cost + newCost > capacity / 2 { (old, young, cost) = (young, [:], 0) }
        young[key] = (value, newCost)
        cost += newCost
    }

    mutating func remove(_ key: String) {
        cost -= young.removeValue(forKey: key)?.cost ?? 0
        old[key] = nil
    }
}
