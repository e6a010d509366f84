/// A backend's handle to its indicator.
///
/// A control does not keep the manager alive; after the manager is deallocated, calls have no effect. Any thread may
/// call it.
public struct IndicatorControl: Sendable {
    /// Enables or disables the indicator, as ``IndicatorManager/isEnabled`` does: for backends with a switch.
    public let setEnabled: @Sendable (_ isEnabled: Bool) -> Void

    /// Reports that an unavailable backend may be available again: it is started immediately. Without effect while the
    /// backend runs.
    public let retry: @Sendable () -> Void

    /// Reports that a running backend has lost its surface, before an update throws: the backend is stopped and started
    /// again, as if an update had thrown an error with this text, which the user reads.
    ///
    /// Without effect while the backend does not run. If the surface is lost while ``IndicatorBackend/start()`` runs,
    /// the next update must throw.
    public let surfaceWasLost: @Sendable (_ reason: String) -> Void

    /// The statuses of the indicator's backends. See ``IndicatorManager/backendStatuses``.
    public let backendStatuses: @Sendable () -> [BackendStatus]

    /// Makes a control, for the tests of a backend.
    public init(
        setEnabled: @escaping @Sendable (Bool) -> Void = { _ in },
        retry: @escaping @Sendable () -> Void = {},
        surfaceWasLost: @escaping @Sendable (String) -> Void = { _ in },
        backendStatuses: @escaping @Sendable () -> [BackendStatus] = { [] }
    ) {
        self.setEnabled = setEnabled
        self.retry = retry
        self.surfaceWasLost = surfaceWasLost
        self.backendStatuses = backendStatuses
    }
}
