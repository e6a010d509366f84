/// The threads of a process that may wake up by themselves: those that run, and those in a system call with a time
/// limit.
///
/// A process without such threads does nothing until an external event wakes it up. `/proc` has the system call of a
/// thread and its arguments, so the check needs no time to pass.
///
/// The threads of libdispatch's pool are excluded: in every program that has run a Swift task, the pool checks once a
/// second whether it has enough threads.
///
/// - Returns: the waking threads with their system calls, and the names of all; Linux may omit some while others end.
package func wakingThreads(of processID: Int32) -> (waking: [String], names: [String]) {
    let folder = "/proc/\(processID)/task"
    let identifiers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    var waking: [String] = []
    var names: [String] = []
    for identifier in identifiers {
        func read(_ file: String) -> String {
            (try? String(contentsOfFile: "\(folder)/\(identifier)/\(file)", encoding: .utf8)) ?? ""
        }
        let name = read("comm").trimmingCharacters(in: .newlines)
        if name.hasSuffix("-qos") || name.hasSuffix(".overcommit") { continue }
        names.append(name)
        // Twice, with its count of context switches: a thread that is between two calls must not look asleep.
        func sleeps() -> [Substring] { read("status").split(separator: "\n").filter { $0.contains("ctxt_switches") } }
        let before = sleeps()
        let call = read("syscall")
        if hasTimeLimit(call) || before != sleeps() || call != read("syscall") {
            waking.append("\(name): \(call.trimmingCharacters(in: .newlines))")
        }
    }
    return (waking, names)
}

/// Whether a line of `/proc/PID/task/TID/syscall`, a number and six arguments, is not a wait without a time limit.
private func hasTimeLimit(_ line: String) -> Bool {
    let words = line.split(separator: " ")
    guard words.count > 6, let number = Int(words[0]) else { return true }
    #if arch(x86_64)
    let milliseconds = [7: 2, 232: 3, 281: 3]  // poll, epoll_wait, epoll_pwait: the number of the argument
    // select, futex, pselect6, ppoll, rt_sigtimedwait, epoll_pwait2
    let pointers = [23: 4, 202: 3, 270: 4, 271: 2, 128: 2, 441: 3]
    let sleeps: Set = [35, 230]  // nanosleep, clock_nanosleep
    #else
    let milliseconds = [22: 3]  // epoll_pwait
    // futex, pselect6, ppoll, rt_sigtimedwait, epoll_pwait2
    let pointers = [98: 3, 72: 4, 73: 2, 137: 2, 441: 3]
    let sleeps: Set = [101, 115]  // nanosleep, clock_nanosleep
    #endif
    func argument(_ index: Int) -> UInt64 { UInt64(words[index + 1].dropFirst(2), radix: 16) ?? 0 }
    if let index = milliseconds[number] { return Int32(truncatingIfNeeded: argument(index)) >= 0 }
    if let index = pointers[number] { return argument(index) != 0 }
    return sleeps.contains(number)
}
