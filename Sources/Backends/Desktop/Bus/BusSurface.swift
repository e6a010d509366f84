import BackendConfiguration
import Foundation
import IndicatorCore
import IndicatorThreads

/// The common part of all bus backends: the handle, the latest snapshot, and one session at a time.
final class BusSurface: @unchecked Sendable {
    // `@unchecked`: what has no lock is only used on the thread of the bus.

    /// Makes a session. `latest` returns the latest snapshot; finished activities are returned once.
    typealias SessionMaker = (IndicatorControl, _ latest: @escaping () -> IndicatorSnapshot) -> any BusSession

    private let bus: MessageBus
    private let control = Locked(IndicatorControl())
    private let currentSummary = Locked<String?>(nil)
    private let latest = Latest()
    private var share: BusShare?

    /// The latest snapshot, for the next session after one was lost.
    private final class Latest {
        var snapshot = IndicatorSnapshot()

        func take() -> IndicatorSnapshot {
            defer { snapshot = snapshot.withoutFinished }
            return snapshot
        }
    }

    init(on address: DBusAddress) {
        bus = MessageBus.at(address)
    }

    deinit {
        guard let share else { return }
        Task.detached(executorPreference: bus.thread) { await share.end() }
    }

    /// The thread on which all bus backends of this bus are called.
    var thread: ServiceThread { bus.thread }

    /// The result of ``BusSession/begin(on:)`` while the session runs.
    var summary: String? { currentSummary.withLock { $0 } }

    func attach(to control: IndicatorControl) {
        self.control.withLock { $0 = control }
    }

    /// Checks whether a session can begin, and ends it immediately. Returns its summary.
    static func probe(
        _ bus: DBusAddress,
        at address: String,
        makeSession: @escaping @Sendable (@escaping () -> IndicatorSnapshot) -> any BusSession
    ) async throws -> String {
        let bus = MessageBus.at(bus)
        return try await withTaskExecutorPreference(bus.thread) {
            let share = BusShare(on: bus, session: makeSession { IndicatorSnapshot() }, isExclusive: true)
            let result: Result<String, any Error>
            do { result = .success(try await share.begin(at: address)) } catch { result = .failure(error) }
            await share.end()
            return try result.get()
        }
    }

    /// Connects again.
    func start(at address: String, makeSession: SessionMaker) async throws {
        try await withTaskExecutorPreference(bus.thread) {
            // After a failed attempt, the previous session still waits for what was missing.
            await share.take()?.end()
            let (control, latest) = (control.withLock { $0 }, latest)
            let share = BusShare(
                on: bus,
                session: makeSession(control) { latest.take() },
                onLoss: { [weak self] error in
                    self?.currentSummary.withLock { $0 = nil }
                    control.surfaceWasLost("\(error)")
                },
                onAppearance: control.retry
            )
            self.share = share
            let summary = try await share.begin(at: address)
            currentSummary.withLock { $0 = summary }
        }
    }

    /// Shows a snapshot. Throws if the session can no longer be used.
    func update(_ snapshot: IndicatorSnapshot) async throws {
        try await withTaskExecutorPreference(bus.thread) {
            var snapshot = snapshot
            snapshot.takeOver(latest.snapshot.finishedActivities)
            latest.snapshot = snapshot
            do {
                try share?.update()
            } catch {
                // The runner delivers the finished activities again.
                latest.snapshot = snapshot.withoutFinished
                throw error
            }
        }
    }

    func stop() async {
        await withTaskExecutorPreference(bus.thread) {
            await share.take()?.end()
            currentSummary.withLock { $0 = nil }
        }
    }
}
