/// One request of a run: the row of the plan that it belongs to, and which of that row's requests it is.
struct RequestID: Sendable, Hashable {
    var row: Int
    var index = 0
}

extension RequestID: CustomStringConvertible {
    var description: String { "\(row).\(index)" }
}
