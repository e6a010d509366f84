/// How long the parts of a request took, measured by libcurl for the last redirect of the last attempt.
public struct NetworkMetrics: Hashable, Sendable, CustomStringConvertible {
    /// The duration of the name lookup; zero on a reused connection.
    public var nameLookup: Duration = .zero
    /// The duration of the TCP handshake; zero on a reused connection.
    public var connect: Duration = .zero
    /// The duration of the TLS handshake; zero without TLS and on a reused connection.
    public var tls: Duration = .zero
    /// The time from the beginning to the first byte of the response.
    public var firstByte: Duration = .zero
    /// The time from the beginning to the end of the body, including pauses.
    public var total: Duration = .zero
    /// Whether the request used an existing connection.
    public var isConnectionReused = false

    /// Creates metrics, for tests.
    public init() {}

    /// The times in milliseconds, on one line.
    public var description: String {
        let times = [("name", nameLookup), ("connect", connect), ("TLS", tls), ("first byte", firstByte)]
        let parts = times.filter { $0.1 > .zero }.map { "\($0.0) \($0.1.milliseconds)" }
        let connection = isConnectionReused ? ["reused connection"] : []
        return "\(total.milliseconds) ms" + ([""] + parts + connection).joined(separator: ", ")
    }
}

extension Duration {
    fileprivate var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
