public import Foundation
import HTTPTypes
import IndicatorCore
import IndicatorThreads

/// Keeps responses, in memory and on disk, for as long as they hold by HTTP's rules for a private cache (RFC 9111).
///
/// - A response that is fresh (`Cache-Control: max-age`, `Expires`, or a tenth of its age when it was last modified) is
///   answered without asking the server. One that is not, but has an `ETag` or a `Last-Modified`, is asked about: the
///   server answers 304, and the body is not sent again.
/// - Only responses to GET, with status 200, 203, 204, 404 or 410, that arrived whole from the URL that was asked are
///   kept; never what says `no-store` or sets a cookie, and never what a request with `Range` or conditions of its own
///   got.
/// - What was got with credentials, or with a field that is sensitive, is given to those alone who send the same. What
///   was got with cookies that the client has kept is not kept. `Vary` is followed.
/// - PUT, POST, PATCH and DELETE that succeed remove what is kept of their URL.
/// - When there is no more room, what was not used for the longest time goes. A damaged file is removed, not served.
/// - Of what a request said, and of its URL, only keyed hashes are kept. Only the user can read the files.
public final class ResponseCache: Sendable {
    /// How far the cache may answer a request. The names are those of Foundation's `URLRequest.CachePolicy`.
    public enum Policy: Sendable {
        /// As HTTP's rules say.
        case useProtocolCachePolicy
        /// The server is asked for the whole response. It is kept.
        case reloadIgnoringLocalCacheData
        /// The server is asked whether what is kept still holds.
        case reloadRevalidatingCacheData
        /// What is kept is used, however old. What the server answers is kept even if it holds for no time.
        case returnCacheDataElseLoad
        /// What is kept is used, however old; without it the request fails.
        case returnCacheDataDontLoad
    }

    /// The default capacity in memory: 4 MiB.
    public static let defaultMemoryCapacity = 4 << 20
    /// The default capacity on disk: 20 MiB.
    public static let defaultDiskCapacity = 20 << 20

    private let memory: Locked<LeastRecentlyUsed<String, CachedResponse>>
    private let disk: CacheDisk?
    private let rules: CachedResponse.Rules
    private let now: @Sendable () -> Date
    /// Why nothing is kept on disk, although a folder was given: it cannot be made, or others own or can write it.
    public let diskProblem: NetworkError?

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: how many bytes to keep in memory.
    ///   - diskCapacity: how many bytes to keep on disk.
    ///   - directory: the folder for the files, which nothing else may use; made if it is not there. `nil`: nothing is
    ///     kept on disk.
    ///   - defaultFreshness: for how many seconds a response is fresh of which the server does not say it (RFC 9111
    ///     §4.2.2); `.infinity`: for ever. Default 0: it is not kept, unless it can be asked about.
    ///   - keepsSetCookie: whether what sets cookies is kept too, with them.
    public convenience init(
        memoryCapacity: Int = defaultMemoryCapacity,
        diskCapacity: Int = defaultDiskCapacity,
        directory: URL?,
        defaultFreshness: Double = 0,
        keepsSetCookie: Bool = false
    ) {
        self.init(
            memoryCapacity: memoryCapacity,
            diskCapacity: diskCapacity,
            directory: directory,
            defaultFreshness: defaultFreshness,
            keepsSetCookie: keepsSetCookie
        ) { Date() }
    }

    /// Makes a cache with the usual capacities, its files in `network-kit` in the user's folder for an app's caches
    /// (`$XDG_CACHE_HOME/<app>`, by default `~/.cache/<app>`).
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
        keepsSetCookie: Bool = false,
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
            defaultFreshness: defaultFreshness.isNaN ? 0 : defaultFreshness,
            keepsSetCookie: keepsSetCookie
        )
        self.now = now
    }

    /// How many files were removed that a killed process had left half written.
    public var removedLeftovers: Int { disk?.removedLeftovers ?? 0 }

    /// How many bytes are kept in memory.
    public var memoryUsage: Int { memory.withLock { $0.cost } }

    /// How many bytes are kept on disk.
    public var diskUsage: Int { disk?.size ?? 0 }

    /// Removes everything that is kept.
    public func removeAll() async {
        memory.withLock { $0.removeAll() }
        try? await blocking { [disk] in disk?.removeAll() }
    }

    // MARK: - Answering

    /// Answers a request out of the cache, or with the network's help.
    ///
    /// - Parameter addsCookies: whether libcurl may add cookies to the request.
    func respond(
        to request: NetworkRequest,
        addsCookies: Bool = false,
        exchange: (NetworkRequest) async throws -> ReceivedResponse
    ) async throws -> NetworkResponse {
        var rules = rules
        rules.addsCookies = addsCookies
        guard let key = request.cacheKey else {
            let response = try await exchange(request)
            // What is kept is out of date (RFC 9111 §4.4).
            if !request.method.isSafe, response.head.status.code < 400 { await remove(request.url.absoluteString) }
            return NetworkResponse(response)
        }
        let control = CacheControl(request.headers[.cacheControl])
        var kept: CachedResponse?
        if request.cachePolicy != .reloadIgnoringLocalCacheData, let found = await read(key),
            found.matches(request, rules)
        {
            kept = found
        }
        if let kept, kept.answers(request, control, rules, at: now()) {
            return NetworkResponse(kept, url: request.url, source: .cache)
        }
        if request.cachePolicy == .returnCacheDataDontLoad || control.onlyIfCached {
            throw NetworkError.notInCache(request.url)
        }
        let requestTime = now()
        let asked = kept?.hasValidator == true ? kept : nil
        let response = try await exchange(asked.map(request.conditional) ?? request)
        if let asked, response.head.status == .notModified {
            let updated = asked.updated(with: response.head, requestTime: requestTime, responseTime: now())
            await write(updated, for: key)
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
            // The server has spoken anew: what it said before no longer holds (RFC 9111 §4.3.3).
            await remove(key)
        }
        return NetworkResponse(response)
    }

    private func read(_ key: String) async -> CachedResponse? {
        if let response = memory.withLock({ $0.use(key) }) {
            try? await blocking { [disk] in disk?.touch(key) }
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
