import Foundation
import IndicatorBackends
import IndicatorCore

/// Shows the title and ends in one of the ways that a program can end, for the tests of what is left behind.
@main
struct Helper {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "configured" { return try await SignalScenarios.run(Array(arguments.dropFirst())) }
        let backend = TerminalTitleBackend(applicationName: "helper")
        let showing = Task(executorPreference: PlainThreads()) {
            try await backend.start()
            try await backend.update(IndicatorSnapshot(state: .active, activityCount: 1, label: "Working"))
        }
        switch await showing.result {
        case .success: print("shown")
        case .failure(let error): print("\(error)")
        }
        fflush(nil)
        switch arguments.first {
        case "return": break
        case "exit": exit(3)
        case "exit-on-thread":
            Thread.detachNewThread { exit(3) }
            pause()
        case "exit-stopped": exitWithStoppedTerminal()
        case "exit-child": exitInChild()
        case "stop": await backend.stop()
        case "wait": _ = readLine()
        case let mode: print("unknown mode \(mode ?? "")")
        }
        // It would put the title back when it is deallocated, and the end of the process is what is tested.
        lastBackend = backend
    }

    // Written once, at the end of `main`.
    nonisolated(unsafe) private static var lastBackend: TerminalTitleBackend?

    private static func exitWithStoppedTerminal() {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        tcflow(terminal, TCOOFF)
        exit(3)
    }

    /// Forks, and lets the child end as C programs end.
    private static func exitInChild() {
        typealias Fork = @convention(c) () -> pid_t
        // Swift hides `fork`; a library that the app uses may call it all the same.
        let fork = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
        let child = fork()
        if child == 0 { exit(0) }
        waitpid(child, nil, 0)
        print("child has ended")
        fflush(nil)
        _exit(0)
    }
}

/// Runs every job on a thread of the plainest kind: those of Swift's own pool have signals blocked that an app's
/// threads have not, `SIGTTOU` among them.
private final class PlainThreads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
