import Foundation

/// Counts the costs of activities other than time: `activity-probe allocations|bytes|edges COUNT`. Prints lines with a
/// name and a number; `edges`, which `strace` counts, prints only names.
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
