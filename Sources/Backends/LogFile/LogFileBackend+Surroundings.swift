package import Foundation

extension LogFileBackend {
    /// What the backend takes from outside, for tests to replace.
    package struct Surroundings: Sendable {
        /// The environment variables.
        package var environment: [String: String]
        /// The time by the wall clock.
        package var now: @Sendable () -> Date
        /// The process that the lines name. Asked for each line: a daemon gets another number after its start.
        package var processID: @Sendable () -> Int32
        /// What the waits between two attempts to write are measured with.
        package var clock: any Clock<Duration>
        /// How much may wait while nothing can be written.
        package var limits: PendingLines.Limits
        /// How long ``stop()`` waits for others that write the file.
        package var patienceAtStop: Duration
        /// How long a file that was renamed away is written on while nothing is in its place.
        package var replacementGrace: Duration

        /// The real ones.
        package init(
            environment: [String: String] = ProcessInfo.processInfo.environment,
            now: @escaping @Sendable () -> Date = { Date() },
            processID: @escaping @Sendable () -> Int32 = { getpid() },
            clock: any Clock<Duration> = ContinuousClock(),
            limits: PendingLines.Limits = PendingLines.Limits(),
            patienceAtStop: Duration = .seconds(1),
            replacementGrace: Duration = .seconds(1)
        ) {
            self.environment = environment
            self.now = now
            self.processID = processID
            self.clock = clock
            self.limits = limits
            self.patienceAtStop = patienceAtStop
            self.replacementGrace = replacementGrace
        }
    }
}
