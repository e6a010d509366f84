import Foundation
import IndicatorCore
import Synchronization

/// A thread of the app that takes descriptors away while others need them.
enum Competitor: String {
    /// Takes all, and releases all.
    case hog
    /// Takes all, and releases one at a time.
    case edge
    /// Takes and releases them one by one, with pauses.
    case turns

    private static let isRunning = Atomic(false)
    private static let hasEnded = DispatchSemaphore(value: 0)

    func start() {
        Self.isRunning.store(true, ordering: .releasing)
        _ = ThreadStarter.start(named: "competitor") {
            compete()
            Self.hasEnded.signal()
        }
    }

    /// Ends the competition. Returns when the thread holds no descriptor.
    static func stop() {
        guard isRunning.exchange(false, ordering: .acquiringAndReleasing) else { return }
        hasEnded.wait()
    }

    private func compete() {
        var held: [Int32] = []
        held.reserveCapacity(1000)
        func pause() { for _ in 0..<20 { _ = getppid() } }
        func takeAll(pausing: Bool = false) {
            while true {
                let descriptor = dup(STDIN_FILENO)
                guard descriptor >= 0 else { return }
                held.append(descriptor)
                if pausing { pause() }
            }
        }
        while Self.isRunning.load(ordering: .acquiring) {
            switch self {
            case .hog:
                takeAll()
                while let descriptor = held.popLast() { close(descriptor) }
            case .edge:
                takeAll()
                if let descriptor = held.popLast() { close(descriptor) }
                pause()
            case .turns:
                takeAll(pausing: true)
                usleep(1)
                while let descriptor = held.popLast() {
                    close(descriptor)
                    pause()
                }
            }
        }
        for descriptor in held { close(descriptor) }
    }
}
