import Foundation

/// The kernel's information about a process: proc(5), `/proc/PID/status`.
enum ProcessStatus {
    /// The resident memory, in KiB.
    static func residentKiB(_ processID: Int32) throws -> Double {
        Double(try number("VmRSS", in: "/proc/\(processID)/status"))
    }

    /// The number of voluntary context switches of each thread.
    static func voluntarySwitches(_ processID: Int32) throws -> [String: Int] {
        let tasks = "/proc/\(processID)/task"
        var switches: [String: Int] = [:]
        for thread in try FileManager.default.contentsOfDirectory(atPath: tasks) {
            switches[thread] = try number("voluntary_ctxt_switches", in: "\(tasks)/\(thread)/status")
        }
        return switches
    }

    /// The processor time of the threads of backends, in milliseconds (Linux, Documentation/scheduler/sched-stats.rst).
    static func backendTime(_ processID: Int32) throws -> Double {
        let tasks = "/proc/\(processID)/task"
        return try FileManager.default.contentsOfDirectory(atPath: tasks).reduce(0) { sum, thread in
            func text(_ file: String) throws -> String {
                try String(contentsOfFile: "\(tasks)/\(thread)/\(file)", encoding: .utf8)
            }
            guard try text("comm").hasPrefix("ind-") else { return sum }
            return try sum + (text("schedstat").split(separator: " ").first.flatMap { Double($0) } ?? 0) / 1e6
        }
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
