/// Identities and labels, created in advance so that their creation is not measured.
enum Names {
    /// The number of names is a power of two, for masking the index.
    static let requests = (0..<64).map { "request-\($0)" }
    static let labels = (0..<64).map { "GET /items/\($0)" }
    /// How many identities are always in progress, if not more.
    static let otherCount = 8

    /// The identities that are always in progress.
    static func others(_ count: Int) -> [String] { (0..<count).map { "other-\($0)" } }
}
