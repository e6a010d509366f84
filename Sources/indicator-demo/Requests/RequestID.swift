/// The identity of a request: its row in the plan, and its index among that row's requests.
struct RequestID: Sendable, Hashable {
    var row: Int
    var index = 0
}

extension RequestID: CustomStringConvertible {
    var description: String { "\(row).\(index)" }
}
