import CIndicatorLinux
import Foundation
import IndicatorCore

/// A pipe for child processes, whose lines appear above the lines of a terminal.
///
/// A line appears when it is complete, so that those of several children do not mix, and nothing is drawn within one;
/// one that no line break follows appears after ``lineLimit``. It stays open for the rest of the process.
struct ChildOutput: Sendable {
    /// How long the beginning of a line is kept back, in milliseconds.
    static let lineLimit: CInt = 200
    /// How much is read at once: as much as a pipe holds (pipe(7)).
    private static let limit = 1 << 16

    /// The end for the children.
    let writer: CInt
    let reader: CInt
    /// The beginning of a line.
    private var rest: [UInt8] = []

    /// Whether the beginning of a line is kept back.
    var hasRest: Bool { !rest.isEmpty }

    /// Makes a pipe; `nil` if that is not possible.
    init?() {
        var ends: [CInt] = [-1, -1]
        guard linux_pipe(&ends) == 0 else { return nil }
        ends = ends.map(StandardStreams.excluding)
        (reader, writer) = (ends[0], ends[1])
        _ = fcntl(reader, F_SETFL, O_NONBLOCK)
    }

    /// Reads what the children have written, and returns what can be shown.
    ///
    /// - Parameter all: whether to return the beginning of a line, too.
    mutating func read(all: Bool) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: Self.limit)
        let count = Foundation.read(reader, &buffer, buffer.count)
        rest += buffer.prefix(max(count, 0))
        let isWhole = all || rest.count >= Self.limit
        let size = isWhole ? rest.count : (rest.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
        defer { rest.removeFirst(size) }
        return Array(rest[..<size])
    }
}
