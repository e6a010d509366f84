/// Identities and labels, made beforehand so that making them is not measured.
enum Names {
    /// A power of two of them.
    static let requests = (0..<64).map { "request-\($0)" }
    static let labels = (0..<64).map { "GET /items/\($0)" }
    /// Those that are in progress all the while.
    static let others = (0..<8).map { "other-\($0)" }
}
