/// An error in a trace, or while reading it.
package struct TraceError: Error, Hashable, CustomStringConvertible {
    /// The file, as the user named it, or `standard input`.
    package var file: String
    /// The line, from 1; `nil` for an error of the whole file.
    package var line: Int?
    /// What is wrong, and what was expected.
    package var message: String

    package var description: String {
        "\(file):\(line.map { "\($0):" } ?? "") error: \(message)"
    }
}
