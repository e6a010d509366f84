import Foundation

/// Counts what activities cost other than time: `activity-probe allocations|bytes|edges COUNT`. Prints a name and a
/// number a line; `edges` is for `strace` to count, and prints the names only.
@main
struct ActivityProbe {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count == 2, let count = arguments.last.flatMap({ Int($0) }), count > 0 else { failUsage() }
        switch arguments.first {
        case "allocations": Allocations.print(count: count)
        case "bytes": Bytes.print(count: count)
        case "edges": Edges.run(count: count)
        default: failUsage()
        }
    }

    private static func failUsage() -> Never {
        FileHandle.standardError.write(Data("usage: activity-probe allocations|bytes|edges COUNT\n".utf8))
        exit(64)
    }
}
