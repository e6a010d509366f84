public import FoundationNetworking

/// What a client does in ways that most apps never change.
public struct NetworkClientOptions: Sendable {
    /// How many redirects of one request are followed. Default 16, which is also the most that `URLSession` follows on Linux.
    public var maximumRedirects = 16
    /// How long a response's body may be, in bytes: it is held in memory. Default 512 MiB.
    public var maximumBodySize = 512 << 20
    /// How many connections there are to a host at once; further requests wait. Default 6.
    public var maximumConnectionsPerHost = 6
    /// Changes the session's configuration before the session is made: proxies, cookies and the like.
    public var configureSession: @Sendable (URLSessionConfiguration) -> Void = { _ in }

    /// Makes the usual options.
    public init() {}
}
