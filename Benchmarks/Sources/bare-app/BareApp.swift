import Foundation

/// An app that does not link the indicator, for comparison. It waits until its input ends.
///
/// With an argument, it first runs a task, which makes the Swift runtime start its threads.
@main
struct BareApp {
    static func main() {
        if CommandLine.arguments.count > 1 {
            let isDone = DispatchSemaphore(value: 0)
            Task.detached { isDone.signal() }
            isDone.wait()
        }
        print("ready \(ProcessInfo.processInfo.processIdentifier)")
        fflush(nil)
        while readLine() != nil {}
    }
}
