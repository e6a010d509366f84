/// What a backend may ask of the indicator that it belongs to.
///
/// A control does not keep the manager alive; after that is deallocated, its calls do nothing. Any thread may call it.
public struct IndicatorControl: Sendable {
    /// Enables or disables the indicator, as ``IndicatorManager/isEnabled`` does: for backends with a switch.
    public let setEnabled: @Sendable (_ isEnabled: Bool) -> Void

    /// Reports that a backend that is unavailable could be available now: it is tried again at once. Without effect
    /// while the backend runs.
    public let retry: @Sendable () -> Void

    /// Reports that a running backend has lost what it shows on, without waiting for an update that would throw: the
    /// backend is stopped and started again, as if an update had thrown an error with this text, which the user reads.
    ///
    /// Without effect while the backend does not run. If the loss comes while ``IndicatorBackend/start()`` runs, the
    /// update that follows is to throw.
    public let surfaceWasLost: @Sendable (_ reason: String) -> Void

    /// How all backends of the indicator are getting on, as ``IndicatorManager/backendStatuses`` tells it.
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
