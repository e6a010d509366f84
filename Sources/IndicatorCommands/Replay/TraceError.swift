/// A trace that cannot be read or is not understood.
package struct TraceError: Error, Hashable, CustomStringConvertible {
    /// The file, as the user named it.
    package var file: String
    /// The line, counted from 1; `nil` when the file as a whole is meant.
    package var line: Int?
    /// What was wrong, and what was expected.
    package var message: String

    package var description: String {
        "\(file):\(line.map { "\($0):" } ?? "") error: \(message)"
    }
}
