public import Foundation

extension NetworkClient {
    /// Settings of a client that few apps change.
    public struct Options: Sendable {
        /// The maximum number of redirects per request. Default 20.
        public var maximumRedirects = 20
        /// The maximum length of a response's body that is held in memory, in bytes. Default 512 MiB.
        public var maximumBodySize = 512 << 20
        /// The maximum number of connections to a host; further requests wait. Default 6.
        public var maximumConnectionsPerHost = 6
        /// Whether the client stores cookies in memory and sends them back (RFC 6265). Default no.
        public var keepsCookies = false
        /// A PEM file of certificates that are trusted instead of the system's, such as those of a company's own
        /// authority. Default `nil`: the system's. If the file cannot be read, requests over TLS fail with an error.
        public var certificateAuthorities: URL?

        /// Creates the default options.
        public init() {}
    }
}
