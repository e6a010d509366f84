/// Identities and labels, created in advance so that their creation is not measured.
enum Names {
    /// The number of names is a power of two, for masking the index.
    static let requests = (0..<64).map { "request-\($0)" }
    static let labels = (0..<64).map { "GET /items/\($0)" }
    /// The identities that are always in progress.
    static let others = (0..<8).map { "other-\($0)" }
}
