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
