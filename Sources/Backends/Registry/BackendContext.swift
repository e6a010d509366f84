public import Logging

/// The context in which a backend is made.
public struct BackendContext: Sendable {
    /// The name of the backend: its section in the config file.
    public var name: String
    /// The name of the app.
    public var applicationName: String
    /// Where the backend's own diagnostics go.
    public var logger: Logger

    /// Makes a context.
    package init(name: String, applicationName: String, logger: Logger) {
        self.name = name
        self.applicationName = applicationName
        self.logger = logger
    }
}
