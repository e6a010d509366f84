import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

@Suite("The lookup of the config file")
struct ConfigurationFileLocatorTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func load(path: String? = nil, _ environment: [String: String] = [:]) throws(ConfigurationError)
        -> IndicatorConfiguration
    {
        var all = [
            "HOME": "\(folder.path)/home",
            "XDG_CONFIG_HOME": "\(folder.path)/config",
            "XDG_CONFIG_DIRS": "\(folder.path)/one:\(folder.path)/two",
        ]
        all.merge(environment) { _, given in given }
        return try IndicatorConfiguration.load(
            from: ConfigurationSource(
                for: "my-app",
                path: path,
                environment: all.filter { $0.value != "unset" },
                registry: .forTests()
            )
        )
    }

    @Test func `finds the first file in the documented order`() throws {
        let places = [
            "given.yaml", "variable.yaml",
            "config/my-app/indicator.yaml", "config/my-app/indicator.yml", "config/my-app/indicator.json",
            "config/indicator/indicator.yaml", "config/indicator/indicator.yml", "config/indicator/indicator.json",
            "one/my-app/indicator.yaml", "one/indicator/indicator.json",
            "two/my-app/indicator.yaml", "two/indicator/indicator.yml",
        ]
        for place in places { try folder.save("{}", to: place) }
        for (index, place) in places.enumerated() {
            let path = index == 0 ? "\(folder.path)/given.yaml" : nil
            let variable = index <= 1 ? "\(folder.path)/variable.yaml" : "unset"
            let configuration = try load(path: path, ["INDICATOR_CONFIG": variable])
            #expect(configuration.file == "\(folder.path)/\(place)")
            try FileManager.default.removeItem(atPath: "\(folder.path)/\(place)")
        }
        #expect(try load().file == nil)
    }

    @Test func `falls back to ~/.config`() throws {
        try folder.save("{}", to: "home/.config/my-app/indicator.yaml")
        for value in ["unset", "", "relative/path"] {
            let file = try load(["XDG_CONFIG_HOME": value]).file
            #expect(file == "\(folder.path)/home/.config/my-app/indicator.yaml")
        }
    }

    @Test func `searches /etc/xdg when XDG_CONFIG_DIRS names no folder`() {
        for environment in [[:], ["XDG_CONFIG_DIRS": ""], ["XDG_CONFIG_DIRS": "relative"]] {
            let source = ConfigurationSource(for: "my-app", environment: environment, registry: .forTests())
            #expect(source.fileCandidates.contains("/etc/xdg/my-app/indicator.yaml"))
            #expect(source.fileCandidates.contains("/etc/xdg/indicator/indicator.json"))
        }
    }

    @Test(arguments: ["..", "a/b", "", "."])
    func `does not leave the config folder, whatever the app is called`(name: String) {
        let source = ConfigurationSource(
            for: name,
            environment: ["XDG_CONFIG_HOME": "/config", "XDG_CONFIG_DIRS": "/xdg"],
            registry: .forTests()
        )
        let folders = ["/config/indicator/", "/xdg/indicator/"]
        #expect(source.fileCandidates.allSatisfy { file in folders.contains { file.hasPrefix($0) } })
    }

    @Test func `reports a requested file that does not exist`() throws {
        let path = "\(folder.path)/none.yaml"
        let given = #expect(throws: ConfigurationError.self) { try load(path: path) }
        #expect(given?.description == "\(path): error: the file cannot be read: No such file or directory")
        let variable = #expect(throws: ConfigurationError.self) { try load(["INDICATOR_CONFIG": path]) }
        let origin = "; the path is from the environment variable INDICATOR_CONFIG"
        #expect(variable?.description == (given?.description ?? "") + origin)
    }

    @Test func `is absolute from the start, for an app that changes its folder`() {
        var source = ConfigurationSource(for: "my-app", environment: [:], registry: .forTests())
        let file = "\(FileManager.default.currentDirectoryPath)/a/indicator.yaml"
        source.environment["INDICATOR_CONFIG"] = "a/indicator.yaml"
        #expect(source.withAbsolutePath.fileCandidates == [file])
        source.path = "a/indicator.yaml"
        #expect(source.withAbsolutePath.fileCandidates == [file])
    }

    @Test func `expands the home folder in a path`() throws {
        try folder.save("{}", to: "home/mine.yaml")
        #expect(try load(path: "~/mine.yaml").file == "\(folder.path)/home/mine.yaml")
    }

    @Test func `reports a dangling link`() throws {
        try folder.save("{}", to: "config/indicator/indicator.yaml")
        try folder.save("", to: "config/my-app/other")
        let path = "\(folder.path)/config/my-app/indicator.yaml"
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "\(folder.path)/none")
        let error = #expect(throws: ConfigurationError.self) { try load() }
        #expect(error?.description == "\(path): error: the file cannot be read: No such file or directory")
    }

    @Test func `results in the defaults without a file, limited to the kinds in the build`() throws {
        let configuration = try load()
        #expect(configuration.backends.map(\.name) == ["terminalTitle", "dbusProperty"])
        #expect(configuration.isEnabled)
        #expect(configuration.delays == .standard)
        #expect(configuration.observe == ["indicator"])
        #expect(configuration.settings.allSatisfy { $0.location == nil })

        var registry = BackendRegistry(kinds: BackendRegistry.forTests().kinds.filter { $0.name != "dbusProperty" })
        registry.registerMissing("dbusProperty", Unavailability(reason: "build with the trait DBus"))
        let environment = ["HOME": folder.path, "XDG_CONFIG_DIRS": folder.path]
        let smaller = try IndicatorConfiguration.load(
            from: ConfigurationSource(for: "my-app", environment: environment, registry: registry)
        )
        #expect(smaller.backends.map(\.name) == ["terminalTitle"])
    }
}
