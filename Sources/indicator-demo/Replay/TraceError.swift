/// A trace that cannot be read or is not understood.
struct TraceError: Error, Hashable, CustomStringConvertible {
    /// The file, as the user named it.
    var file: String
    /// The line, counted from 1; `nil` when the file as a whole is meant.
    var line: Int?
    /// What was wrong, and what was expected.
    var message: String

    var description: String {
        "\(file):\(line.map { "\($0):" } ?? "") error: \(message)"
    }
}
