import Foundation

/// What the kernel tells of a process: proc(5), `/proc/PID/status`.
enum ProcessStatus {
    /// The memory that is resident, in KiB.
    static func residentKiB(_ processID: Int32) throws -> Double {
        Double(try number("VmRSS", in: "/proc/\(processID)/status"))
    }

    /// How many times each thread has gone to sleep of its own accord.
    static func voluntarySwitches(_ processID: Int32) throws -> [String: Int] {
        let tasks = "/proc/\(processID)/task"
        var switches: [String: Int] = [:]
        for thread in try FileManager.default.contentsOfDirectory(atPath: tasks) {
            switches[thread] = try number("voluntary_ctxt_switches", in: "\(tasks)/\(thread)/status")
        }
        return switches
    }

    private static func number(_ field: String, in file: String) throws -> Int {
        for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
            guard line.hasPrefix("\(field):") else { continue }
            if let number = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) }) {
                return number
            }
        }
        throw Child.Failure(description: "\(file) has no \(field)")
    }
}
