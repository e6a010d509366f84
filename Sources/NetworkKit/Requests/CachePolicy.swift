/// How a request uses the cache. The names are those of Foundation's `URLRequest.CachePolicy`.
public enum CachePolicy: Sendable {
    /// Follows RFC 9111.
    case useProtocolCachePolicy
    /// Always loads the response from the server, and stores it.
    case reloadIgnoringLocalCacheData
    /// Revalidates a stored response, even if it is fresh.
    case reloadRevalidatingCacheData
    /// Uses a stored response, however old. A response from the server is stored even if it has no freshness
    /// lifetime.
    case returnCacheDataElseLoad
    /// Uses a stored response, however old. Without one the request fails.
    case returnCacheDataDontLoad
}
