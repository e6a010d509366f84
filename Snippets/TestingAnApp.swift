// Testing an app in virtual time.

// snippet.hide
import IndicatorCore
import IndicatorTesting

// snippet.show
// snippet.app
func export(_ rows: [Int], in indicator: IndicatorManager, write: (Int) async throws -> Void) async throws {
    try await rows.tracked("Exporting", in: indicator).forEach { row in try await write(row) }
}
// snippet.end
// snippet.hide

struct DiskFull: Error {}

func shown() async throws {
    // snippet.show
    // snippet.shown
    let clock = VirtualClock()
    let backend = InMemoryBackend()
    let indicator = IndicatorManager(backends: [backend], clock: clock)
    try await export([1, 2], in: indicator) { _ in
        await clock.advance(by: .seconds(2), settling: indicator)
        precondition(backend.snapshots.last?.label == "Exporting")
    }
    await clock.advance(by: .milliseconds(200), settling: indicator)
    precondition(!backend.isVisible)
    precondition(backend.finished.map(\.outcome) == [.succeeded])
    // snippet.end
    // snippet.hide
}

func short() async throws {
    // snippet.show
    // snippet.short
    let clock = VirtualClock()
    let backend = InMemoryBackend()
    let indicator = IndicatorManager(backends: [backend], clock: clock)
    try? await export([1, 2], in: indicator) { _ in
        await clock.advance(by: .milliseconds(300), settling: indicator)
        throw DiskFull()
    }
    await clock.advance(by: .seconds(2), settling: indicator)
    precondition(!backend.snapshots.contains { $0.isVisible })
    // snippet.end
    // snippet.hide
}

try await shown()
try await short()
