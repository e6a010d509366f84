import Foundation

/// The programs that tests start, measure, send signals to and kill: `test-probe PROBE [ARGUMENT…]`. Each has its
/// arguments in its documentation.
@main
struct TestProbe {
    // On the main thread, which is the only one until the first suspension: a probe may need that.
    @MainActor static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst(2))
        switch CommandLine.arguments.dropFirst().first {
        case "app": try await AppProbe.run(arguments)
        case "core": try await CoreProbe.run(arguments)
        case "desktop": try DesktopProbe.run(arguments)
        case "log": await LogProbe.run(arguments)
        case "network": try await NetworkProbe.run(arguments)
        case "progress": try await ProgressProbe.run(arguments)
        case "title": try await TitleProbe.run(arguments)
        default:
            FileHandle.standardError.write(Data("test-probe: unknown probe\n".utf8))
            exit(64)
        }
    }
}

/// Prints a line. Not with `print`, whose `fflush(nil)` would wait for a thread that reads standard input, and not with
/// `FileHandle`, which traps when the reader has ended.
func say(_ text: String) { _ = write(STDOUT_FILENO, text + "\n", text.utf8.count + 1) }

/// The value of an argument such as `name=value`.
func option(_ name: String, in arguments: [String]) -> String? {
    arguments.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
}

/// A number of this process in proc_pid_status(5), such as `VmRSS` in kB.
func statistic(_ name: String) -> String {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") } ?? ""
    return line.split(whereSeparator: \.isWhitespace).dropFirst().first.map(String.init) ?? "?"
}

/// What a signal does: `default`, `ignore` or `handler`.
func disposition(of number: CInt) -> String {
    var action = sigaction()
    sigaction(number, nil, &action)
    let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
    return handler == 0 ? "default" : handler == 1 ? "ignore" : "handler"
}

/// A variable or function of a preloaded library.
func preloaded<Symbol>(_ name: String, as type: Symbol.Type) -> Symbol {
    guard let address = dlsym(nil, name) else { fatalError("'\(name)' is not preloaded") }
    return unsafeBitCast(address, to: type)
}

/// Runs a command in a child process.
func runShell(_ arguments: String..., to output: Int32? = nil) throws {
    let child = Process()
    child.executableURL = URL(filePath: "/bin/sh")
    child.arguments = ["-c"] + arguments
    if let output { child.standardOutput = FileHandle(fileDescriptor: output) }
    try child.run()
    child.waitUntilExit()
}

/// Swift hides `fork`, but a library that the app uses may call it.
func forkProcess() -> pid_t { unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> pid_t).self)() }

/// Lets signals through that the test has blocked, and ends the process if a failed test leaves it running.
func beginProbe() {
    var none = sigset_t()
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, nil)
    alarm(300)
}
