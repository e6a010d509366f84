import CIndicatorLinux
import Foundation
import IndicatorThreads

/// A pipe for child processes, whose lines appear above the lines of a terminal.
///
/// A thread reads what the children write. A line appears when it is complete, so that those of several children do not
/// mix, and nothing is drawn within one; one that no line break follows appears after ``lineLimit``.
final class ChildOutput: Sendable {
    /// How long the beginning of a line is kept back, in milliseconds.
    private static let lineLimit: CInt = 200

    /// The end for the children.
    let descriptor: CInt

    private let reader: CInt
    private let terminal: SharedTerminal
    /// Asks the thread to pass on the rest, and to end.
    private let end: WakeUp
    private let hasEnded: WakeUp

    /// Makes a pipe, which stays open for the rest of the process; `nil` if that is not possible.
    init?(above terminal: SharedTerminal) {
        var ends: [CInt] = [-1, -1]
        guard let end = WakeUp(), let hasEnded = WakeUp(), linux_pipe(&ends) == 0 else { return nil }
        ends = ends.map(StandardStreams.excluding)
        (reader, descriptor, self.terminal, self.end, self.hasEnded) = (ends[0], ends[1], terminal, end, hasEnded)
        _ = fcntl(reader, F_SETFL, O_NONBLOCK)
        guard ThreadStarter.start(named: "child-output", { self.passOn() }) else { return nil }
    }

    deinit {
        close(reader)
        close(descriptor)
    }

    private func passOn() {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        /// The beginning of a line.
        var rest: [UInt8] = []
        var waited = [
            pollfd(fd: end.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: reader, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let isLate = poll(&waited, 2, rest.isEmpty ? -1 : Self.lineLimit) == 0
            // Before reading: what was written before that is passed on.
            let isEnding = end.isStopped
            let count = read(reader, &buffer, buffer.count)
            if count > 0 { rest += buffer[..<count] }
            let isDrained = count <= 0
            let isWhole = isEnding && isDrained || isLate || rest.count >= buffer.count
            let size = isWhole ? rest.count : (rest.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
            if size > 0 {
                let text = Array(rest[..<size])
                rest.removeFirst(size)
                terminal.changeLines { $0.write(text) }
                // The children wait with this thread while the terminal accepts no bytes.
                _ = try? terminal.settle()
            }
            if isEnding, isDrained { return hasEnded.stop() }
        }
    }

    /// Passes on what was written so far, within a limit.
    func finish(within limit: Duration) {
        end.stop()
        var waited = pollfd(fd: hasEnded.descriptor, events: Int16(POLLIN), revents: 0)
        poll(&waited, 1, CInt(clamping: limit.wholeMilliseconds))
    }
}
