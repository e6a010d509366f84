public import IndicatorCore
public import ServiceLifecycle

/// An indicator among the services of a `ServiceGroup`: it is shut down with them.
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
/// A group shuts its services down in reverse order. Name the indicator before those whose work it shows: then it shows
/// what they still do at the end. The group handles the signals, and so they do not end the process by themselves, as
/// they do to an app with `configured(for:)` and without a handler.
extension IndicatorManager: Service {
    /// Waits until the group shuts down or the task is cancelled, and then calls `shutdown()`.
    public func run() async {
        try? await gracefulShutdown()
        await shutdown()
    }
}
