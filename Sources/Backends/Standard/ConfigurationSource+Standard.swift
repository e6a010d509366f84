public import BackendConfiguration
public import Foundation
public import Logging

extension ConfigurationSource {
    /// Makes a source; by default, everything is usual.
    public init(
        for applicationName: String,
        path: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment,
        registry: BackendRegistry = .standard,
        overrides: [String: SettingValue] = [:],
        defaults: [String: SettingValue] = [:],
        isReloaded: Bool = true,
        printsMistakes: Bool = true,
        logger: Logger = Logger(label: "indicator")
    ) {
        self.init(for: applicationName, environment: environment, registry: registry)
        (self.path, self.overrides, self.defaults) = (path, overrides, defaults)
        (self.isReloaded, self.printsMistakes, self.logger) = (isReloaded, printsMistakes, logger)
    }
}
