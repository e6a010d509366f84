import Foundation
import IndicatorBackends
import IndicatorTesting

/// Shows the title and ends in the given way, for tests of what remains in the terminal: `test-probe title WAY`.
enum TitleProbe {
    static func run(_ arguments: [String]) async throws {
        let backend = BackendDriver(TerminalTitleBackend(applicationName: "helper"))
        let showing = Task {
            try await backend.start()
            try await backend.update(IndicatorSnapshot(state: .active, activityCount: 1, label: "Working"))
        }
        switch await showing.result {
        case .success: say("shown")
        case .failure(let error): say("\(error)")
        }
        switch arguments.first {
        case "return": break
        case "exit": exit(3)
        case "exit-on-thread":
            Thread.detachNewThread { exit(3) }
            pause()
        case "exit-stopped":
            tcflow(open("/dev/tty", O_RDWR | O_CLOEXEC), TCOOFF)
            exit(3)
        case "exit-child":
            let child = forkProcess()
            if child == 0 { exit(0) }
            waitpid(child, nil, 0)
            say("child has ended")
            _exit(0)
        case "stop": await backend.stop()
        default: exit(64)
        }
        // Keeps the backend alive: its deallocation would restore the title before the process ends.
        lastBackend = backend
    }

    // Written once, at the end of `main`.
    nonisolated(unsafe) private static var lastBackend: BackendDriver<TerminalTitleBackend>?
}
