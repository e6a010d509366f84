import Foundation

/// The number of system calls of single activities that begin and end repeatedly.
enum SystemCalls {
    static let name = "syscalls-idle-edges"

    static func count(_ scale: Scale) throws -> Figure {
        guard let strace = Child.find("strace") else {
            throw Child.Failure(description: "strace is not installed; run: apt-get install strace")
        }
        let folder = try WorkFolder()
        let trace = "\(folder.path)/trace"
        let probe = [Child.sibling("activity-probe"), "edges", "\(scale.countedPairs)"]
        let names: [String]
        do {
            names = try Child(strace, ["-f", "-qq", "-o", trace] + probe).finish()
        } catch {
            throw Child.Failure(description: "strace could not trace a process (\(error))")
        }
        let counts = Self.counts(in: try String(contentsOfFile: trace, encoding: .utf8))
        // The last part is for comparison: its backend receives changes, up to ten times a second.
        guard names.count > 1, counts.count == names.count, let most = counts.dropLast().max() else {
            throw Child.Failure(description: "strace recorded \(counts.count) of \(names.count) parts of the run")
        }
        return Figure(
            name: name,
            title: "system calls of repeated begins and ends",
            goal: 0,
            outcome: .count(Double(most), unit: "in \(Decimals.grouped(scale.countedPairs))"),
            detail: "of all threads, \(zip(names, counts).map { "\($0): \($1)" }.joined(separator: ", "))"
        )
    }

    /// The numbers of system calls between two marks.
    private static func counts(in trace: String) -> [Int] {
        var counts: [Int] = []
        var count: Int?
        for line in trace.split(separator: "\n") {
            if line.contains("close(-4242") {
                if let finished = count { counts.append(finished) }
                count = count == nil ? 0 : nil
            } else if line.contains("("), !line.contains(" resumed>"), !line.contains(" --- ") {
                count? += 1
            }
        }
        return counts
    }
}
