public import Logging

/// What a backend learns about where it runs, when it is made.
public struct BackendContext: Sendable {
    /// The name that the backend is to have: its section in the config file.
    public var name: String
    /// The name of the app.
    public var applicationName: String
    /// Where the backend's own diagnostics go.
    public var logger: Logger

    /// Makes a context.
    public init(name: String, applicationName: String, logger: Logger) {
        self.name = name
        self.applicationName = applicationName
        self.logger = logger
    }
}
