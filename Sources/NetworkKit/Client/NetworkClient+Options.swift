public import Foundation

extension NetworkClient {
    /// What a client does in ways that most apps never change.
    public struct Options: Sendable {
        /// How many redirects of one request are followed. Default 20.
        public var maximumRedirects = 20
        /// How long a response's body may be, in bytes, where it is held in memory. Default 512 MiB.
        public var maximumBodySize = 512 << 20
        /// How many connections there are to a host at once; further requests wait. Default 6.
        public var maximumConnectionsPerHost = 6
        /// Whether cookies that servers set are sent back to them (RFC 6265), for as long as the client lives. Default
        /// no.
        public var keepsCookies = false
        /// A file of certificates in PEM form that are trusted instead of the system's, such as that of a company's own
        /// authority. Default `nil`: the system's. If it cannot be read, requests by TLS fail with an error that says
        /// so.
        public var certificateAuthorities: URL?

        /// Makes the usual options.
        public init() {}
    }
}
