public import Foundation
import HTTPTypes
import IndicatorCore
import IndicatorThreads

/// A private HTTP cache (RFC 9111), in memory and on disk.
///
/// - A fresh response (`Cache-Control: max-age`, `Expires`, or a tenth of the time since `Last-Modified`) is served
///   without contacting the server. A stale one with an `ETag` or `Last-Modified` is revalidated: if the server answers
///   304, the body is not sent again.
/// - Only complete responses to GET with status 200, 203, 204, 404 or 410 and without a redirect are stored. Responses
///   with `no-store` or `Set-Cookie`, and responses to requests with a body, `Range` or conditional fields, are not.
/// - A response to a request with credentials, sensitive fields or a client certificate is served only to requests with
///   the same ones. A response to a request with cookies from the client's cookie store is not stored. `Vary` is
///   respected.
/// - A successful PUT, POST, PATCH or DELETE removes the entry of its URL.
/// - When the capacity is exceeded, the least recently used entries are evicted. A damaged file is removed, not served.
/// - URLs and request fields are stored as keyed hashes only. Only the user can read the files.
public final class ResponseCache: Sendable {
    /// The default capacity in memory: 4 MiB.
    @usableFromInline package static let defaultMemoryCapacity = 4 << 20
    /// The default capacity on disk: 20 MiB.
    @usableFromInline package static let defaultDiskCapacity = 20 << 20

    private let memory: Locked<LeastRecentlyUsed<String, CachedResponse>>
    private let disk: CacheDisk?
    private let rules: CachedResponse.Rules
    private let now: @Sendable () -> Date
    /// Why the given folder is not used: it cannot be created, or another user owns it or can write to it.
    public let diskProblem: NetworkError?

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: the capacity in memory, in bytes. Default: 4 MiB.
    ///   - diskCapacity: the capacity on disk, in bytes. Default: 20 MiB.
    ///   - directory: a folder for the files of this cache only; created if it does not exist. `nil`: nothing is stored
    ///     on disk.
    ///   - defaultFreshness: how long a response is fresh if the server does not specify it, in seconds (RFC 9111
    ///     §4.2.2); `.infinity`: always. Default 0: it is stored only if it can be revalidated.
    public convenience init(
        memoryCapacity: Int = defaultMemoryCapacity,
        diskCapacity: Int = defaultDiskCapacity,
        directory: URL?,
        defaultFreshness: Double = 0
    ) {
        self.init(
            memoryCapacity: memoryCapacity,
            diskCapacity: diskCapacity,
            directory: directory,
            defaultFreshness: defaultFreshness
        ) { Date() }
    }

    /// Creates a cache with the default capacities and its files in `$XDG_CACHE_HOME/<app>/network-kit` (by default
    /// `~/.cache/<app>/network-kit`).
    public convenience init(app: String) {
        let environment = ProcessInfo.processInfo.environment["XDG_CACHE_HOME"]
        let base =
            if let environment, environment.hasPrefix("/") { URL(filePath: environment) } else {
                FileManager.default.homeDirectoryForCurrentUser.appending(path: ".cache")
            }
        self.init(directory: base.appending(path: app).appending(path: "network-kit"))
    }

    init(
        memoryCapacity: Int,
        diskCapacity: Int,
        directory: URL?,
        defaultFreshness: Double = 0,
        now: @escaping @Sendable () -> Date
    ) {
        memory = Locked(LeastRecentlyUsed(capacity: memoryCapacity))
        do {
            disk = try directory.map { try CacheDisk(directory: $0, capacity: diskCapacity) }
            diskProblem = nil
        } catch {
            disk = nil
            diskProblem = error as? NetworkError
        }
        rules = .init(
            hash: disk?.hash ?? KeyedHash(),
            defaultFreshness: defaultFreshness.isNaN ? 0 : defaultFreshness
        )
        self.now = now
    }

    /// The size of the entries in memory, in bytes.
    public var memoryUsage: Int { memory.withLock { $0.cost } }

    /// The size of the entries on disk, in bytes.
    public var diskUsage: Int { disk?.size ?? 0 }

    /// Removes all entries.
    public func removeAll() async {
        memory.withLock { $0.removeAll() }
        try? await blocking { [disk] in disk?.removeAll() }
    }

    // MARK: - Answering

    /// Answers a request from the cache or from the server.
    ///
    /// - Parameters:
    ///   - hasBody: whether the request has a body. Then the URL does not identify the response.
    ///   - addsCookies: whether libcurl may add cookies to the request.
    ///   - certificate: the file of the client's certificate.
    func respond(
        to request: NetworkRequest,
        hasBody: Bool = false,
        addsCookies: Bool = false,
        certificate: String? = nil,
        exchange: (NetworkRequest) async throws -> ReceivedResponse
    ) async throws -> NetworkResponse {
        var rules = rules
        rules.addsCookies = addsCookies
        rules.certificate = certificate
        let control = CacheControl(request.headers[.cacheControl])
        let mayLoad = request.cachePolicy != .returnCacheDataDontLoad
        guard let key = request.cacheKey, !hasBody else {
            guard mayLoad else { throw NetworkError.notInCache(request.url) }
            let response = try await exchange(request)
            // The request has invalidated the entry (RFC 9111 §4.4).
            if !request.method.isSafe, response.head.status.code < 400 { await remove(request.url.absoluteString) }
            return NetworkResponse(response)
        }
        var kept: CachedResponse?
        if request.cachePolicy != .reloadIgnoringLocalCacheData, let found = await read(key),
            found.matches(request, rules)
        {
            kept = found
        }
        if let kept, kept.answers(request, control, rules, at: now()) {
            return NetworkResponse(kept, url: request.url, source: .cache)
        }
        guard mayLoad else { throw NetworkError.notInCache(request.url) }
        let requestTime = now()
        let asked = kept?.hasValidator == true ? kept : nil
        let response = try await exchange(asked.map(request.conditional) ?? request)
        if let asked, response.head.status == .notModified {
            let updated = asked.updated(with: response.head, requestTime: requestTime, responseTime: now())
            if control.noStore || CacheControl(response.head.headers[.cacheControl]).noStore {
                await remove(key)
            } else {
                await write(updated, for: key)
            }
            return NetworkResponse(updated, url: request.url, source: .revalidatedCache)
        }
        let new = CachedResponse(
            response,
            to: request,
            rules: rules,
            requestTime: requestTime,
            responseTime: now()
        )
        if let new, !control.noStore {
            await write(new, for: key)
        } else if kept != nil, response.head.status.code < 500 {
            // The new response replaces the stored one (RFC 9111 §4.3.3).
            await remove(key)
        }
        return NetworkResponse(response)
    }

    private func read(_ key: String) async -> CachedResponse? {
        if let response = memory.withLock({ $0.use(key) }) {
            disk?.use(key)
            return response
        }
        guard let disk, let response = try? await blocking({ disk.read(key) }) else { return nil }
        memory.withLock { _ = $0.insert(response, for: key, cost: response.cost) }
        return response
    }

    private func write(_ response: CachedResponse, for key: String) async {
        memory.withLock { _ = $0.insert(response, for: key, cost: response.cost) }
        try? await blocking { [disk] in disk?.write(response, for: key) }
    }

    private func remove(_ key: String) async {
        memory.withLock { _ = $0.remove(key) }
        try? await blocking { [disk] in disk?.remove(key) }
    }
}

extension NetworkResponse {
    fileprivate init(_ response: CachedResponse, url: URL, source: Source) {
        self.init(
            url: url,
            status: .init(code: response.metadata.status),
            headers: response.metadata.headers,
            data: response.body,
            source: source
        )
    }
}

extension ResponseCache {
    /// Renamed.
    @available(*, unavailable, renamed: "CachePolicy")
    public typealias Policy = CachePolicy
}
