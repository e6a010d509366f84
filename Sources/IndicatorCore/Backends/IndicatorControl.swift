/// What a backend may ask of the indicator that it belongs to.
///
/// A control does not keep the manager alive; once that is gone, its calls do nothing. Any thread may call it.
public struct IndicatorControl: Sendable {
    private let enable: @Sendable (Bool) -> Void
    private let retryNow: @Sendable () -> Void
    private let lose: @Sendable (String) -> Void

    /// Makes a control, for the tests of a backend.
    ///
    /// - Parameters:
    ///   - setEnabled: what ``setEnabled(_:)`` does.
    ///   - retry: what ``retry()`` does.
    ///   - surfaceWasLost: what ``surfaceWasLost(_:)`` does.
    public init(
        setEnabled: @escaping @Sendable (Bool) -> Void = { _ in },
        retry: @escaping @Sendable () -> Void = {},
        surfaceWasLost: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.enable = setEnabled
        self.retryNow = retry
        self.lose = surfaceWasLost
    }

    /// Switches the indicator on or off, as ``IndicatorManager/isEnabled`` does: for surfaces with a switch.
    public func setEnabled(_ isEnabled: Bool) {
        enable(isEnabled)
    }

    /// Says that a backend that is unavailable could be available now: it is tried again at once.
    ///
    /// Without effect while the backend runs.
    public func retry() {
        retryNow()
    }

    /// Says that the surface of a running backend was lost, without waiting for an update that would throw: the backend is
    /// stopped and started again, as if an update had thrown.
    ///
    /// Without effect while the backend does not run. When the loss comes while ``IndicatorBackend/start()`` is under way, the
    /// update that follows is to throw.
    ///
    /// - Parameter reason: what happened and what to do; the user reads it.
    public func surfaceWasLost(_ reason: String) {
        lose(reason)
    }
}
