public import Foundation
import FoundationNetworking
import IndicatorCore

/// Keeps responses, in memory and on disk, for as long as they hold by HTTP's rules for a private cache (RFC 9111).
///
/// - A response that is fresh (`Cache-Control: max-age`, `Expires`, or a tenth of its age when it was last modified) is answered
///   without asking the server. One that is not, but has an `ETag` or a `Last-Modified`, is asked about: the server answers 304, and
///   the body is not sent again.
/// - Only responses to GET, with status 200, 203, 204, 404 or 410, that arrived whole from the URL that was asked are kept; never what
///   says `no-store`, and never what a request with `Range` or conditions of its own got.
/// - `Vary` is heeded, and `Authorization` as if it were always in it: what one user got, another does not.
/// - PUT, POST, PATCH and DELETE that succeed remove what is kept of their URL.
/// - When there is no more room, what was not used for the longest time goes. A damaged file is removed, not served.
///
/// It is not built on `URLCache`, because on Linux that serves nothing of what a session loads over HTTP, fresh or not, and has no
/// revalidation; a test holds that fact.
public final class ResponseCache: Sendable {
    /// The default capacity in memory: 4 MiB.
    public static let defaultMemoryCapacity = 4 << 20
    /// The default capacity on disk: 20 MiB.
    public static let defaultDiskCapacity = 20 << 20

    private let memory: Locked<LeastRecentlyUsed<String, CachedResponse>>
    private let disk: CacheDisk?
    private let now: @Sendable () -> Date

    /// Makes a cache.
    ///
    /// - Parameters:
    ///   - memoryCapacity: how many bytes to keep in memory.
    ///   - diskCapacity: how many bytes to keep on disk.
    ///   - directory: the folder for the files, which nothing else may use; made when the first is written. `nil`: none is written.
    public convenience init(
        memoryCapacity: Int = defaultMemoryCapacity,
        diskCapacity: Int = defaultDiskCapacity,
        directory: URL?
    ) {
        self.init(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, directory: directory) { Date() }
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

    init(memoryCapacity: Int, diskCapacity: Int, directory: URL?, now: @escaping @Sendable () -> Date) {
        memory = Locked(LeastRecentlyUsed(capacity: memoryCapacity))
        disk = directory.map { CacheDisk(directory: $0, capacity: diskCapacity) }
        self.now = now
    }

    /// How many bytes are kept in memory.
    public var memoryUsage: Int { memory.withLock { $0.cost } }

    /// How many bytes are kept on disk.
    public var diskUsage: Int { disk?.size ?? 0 }

    /// Removes everything that is kept.
    public func removeAll() async {
        memory.withLock { $0.removeAll() }
        try? await blocking { [disk] _ in disk?.removeAll() }
    }

    // MARK: - Answering

    typealias Exchange = @Sendable (URLRequest) async throws -> TransportResponse

    /// Answers a request out of the cache, or with the network's help.
    func respond(to request: URLRequest, exchange: Exchange) async throws -> NetworkResponse {
        guard let url = request.url, let key = request.cacheKey else {
            let response = try await exchange(request)
            if request.removesWhatIsKept, response.status < 400, let url = request.url { await remove(url.cacheKey) }
            return NetworkResponse(response)
        }
        let requestControl = CacheControl(request.value(forHTTPHeaderField: "Cache-Control"))
        var kept: CachedResponse?
        if request.cachePolicy.mayUseKept, let found = await read(key), found.matches(request) { kept = found }
        if let kept, kept.answers(request, requestControl, at: now()) {
            return NetworkResponse(kept, source: .cache)
        }
        if request.cachePolicy == .returnCacheDataDontLoad || requestControl.onlyIfCached {
            throw NetworkError.notInCache(url)
        }
        let requestTime = now()
        let isConditional = kept?.hasValidator ?? false
        let response = try await exchange(isConditional ? request.conditional(on: kept) : request)
        if let kept, isConditional, response.status == 304 {
            let updated = kept.updated(with: response, requestTime: requestTime, responseTime: now())
            await write(updated, for: key)
            return NetworkResponse(updated, source: .revalidatedCache)
        }
        let new = CachedResponse(response, to: request, requestTime: requestTime, responseTime: now())
        if let new, !requestControl.noStore {
            await write(new, for: key)
        } else if kept != nil, response.status < 500 {
            // The server has spoken anew: what it said before no longer holds (RFC 9111 §4.3.3).
            await remove(key)
        }
        return NetworkResponse(response)
    }

    private func read(_ key: String) async -> CachedResponse? {
        if let response = memory.withLock({ $0.use(key) }) {
            try? await blocking { [disk] _ in disk?.touch(key) }
            return response
        }
        guard let disk, let response = try? await blocking({ _ in disk.read(key) }) else { return nil }
        memory.withLock { _ = $0.insert(response, for: key, cost: response.cost) }
        return response
    }

    private func write(_ response: CachedResponse, for key: String) async {
        memory.withLock { _ = $0.insert(response, for: key, cost: response.cost) }
        try? await blocking { [disk] _ in disk?.write(response, for: key) }
    }

    private func remove(_ key: String) async {
        memory.withLock { _ = $0.remove(key) }
        try? await blocking { [disk] _ in disk?.remove(key) }
    }
}
