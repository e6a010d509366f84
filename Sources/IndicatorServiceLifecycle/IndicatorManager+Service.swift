public import IndicatorCore
public import ServiceLifecycle

/// Makes the indicator a service of a `ServiceGroup`, which shuts it down.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [indicator, server],
///     gracefulShutdownSignals: [.sigterm, .sigint],
///     logger: logger
/// )
/// try await group.run()
/// ```
///
/// A group shuts its services down in reverse order. List the indicator before the services whose work it shows, so
/// that it shows their work during shutdown. The group handles the signals, so they do not end the process, as they
/// otherwise do with `configured(for:)`.
extension IndicatorManager: Service {
    /// Waits until the group shuts down or the task is cancelled, and then calls `shutdown()`.
    public func run() async {
        try? await gracefulShutdown()
        await shutdown()
    }
}
