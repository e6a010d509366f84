import TestSupport

@testable import BackendConfiguration
@testable import IndicatorBackends

@Suite("The lookup of the config file")
struct ConfigurationSourceTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func load(path: String? = nil, _ environment: [String: String] = [:]) throws(ConfigurationError)
        -> IndicatorConfiguration
    {
        let places = [
            "HOME": "\(folder.path)/home", "XDG_CONFIG_HOME": "\(folder.path)/config",
            "XDG_CONFIG_DIRS": "\(folder.path)/one:\(folder.path)/two",
        ]
        let environment = places.merging(environment) { $1 }
        let source = ConfigurationSource(for: "my-app", path: path, environment: environment)
        return try IndicatorConfiguration.load(from: source)
    }

    private static let usual = ["/h/.config/my-app", "/h/.config/indicator", "/etc/xdg/my-app", "/etc/xdg/indicator"]
    private static let own = ["/c/my-app", "/c/indicator", "/1/my-app", "/1/indicator", "/2/my-app", "/2/indicator"]

    private static let searches: [(when: String, app: String, variables: [String: String], folders: [String])] = [
        ("without the variables", "my-app", [:], usual),
        ("with empty ones", "my-app", ["XDG_CONFIG_HOME": "", "XDG_CONFIG_DIRS": ""], usual),
        ("with relative ones", "my-app", ["XDG_CONFIG_HOME": "a/b", "XDG_CONFIG_DIRS": "c"], usual),
        ("with the variables", "my-app", ["XDG_CONFIG_HOME": "/c", "XDG_CONFIG_DIRS": "/1:/2"], own),
        ("whatever the app is called", "..", ["XDG_CONFIG_HOME": "/c"], ["/c/indicator", "/etc/xdg/indicator"]),
        ("in one folder", "a/b", ["XDG_CONFIG_HOME": "/c"], ["/c/indicator", "/etc/xdg/indicator"]),
        ("with a name", "", ["XDG_CONFIG_HOME": "/c"], ["/c/indicator", "/etc/xdg/indicator"]),
        ("of its own", ".", ["XDG_CONFIG_HOME": "/c"], ["/c/indicator", "/etc/xdg/indicator"]),
    ]

    @Test(arguments: searches)
    func `is in the documented folders`(when: String, app: String, variables: [String: String], folders: [String]) {
        let environment = ["HOME": "/h"].merging(variables) { $1 }
        let source = ConfigurationSource(for: app, environment: environment)
        let files = folders.flatMap { folder in ["yaml", "yml", "json"].map { "\(folder)/indicator.\($0)" } }
        #expect(source.fileCandidates == files, "\(when)")
    }

    @Test func `finds the first file in the documented order`() throws {
        let places = [
            "home/given.yaml", "variable.yaml", "config/my-app/indicator.yml", "one/indicator/indicator.json",
        ]
        for place in places { try folder.save("{}", to: place) }
        for (index, place) in places.enumerated() {
            let path = index == 0 ? "~/given.yaml" : nil
            let variable = index <= 1 ? "\(folder.path)/variable.yaml" : ""
            let configuration = try load(path: path, ["INDICATOR_CONFIG": variable])
            #expect(configuration.file == "\(folder.path)/\(place)")
            try FileManager.default.removeItem(atPath: "\(folder.path)/\(place)")
        }
        #expect(try load().file == nil)
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
        var source = ConfigurationSource(for: "my-app", environment: [:])
        let file = "\(FileManager.default.currentDirectoryPath)/a/indicator.yaml"
        source.environment["INDICATOR_CONFIG"] = "a/indicator.yaml"
        #expect(source.withAbsolutePath.fileCandidates == [file])
        source.path = "a/indicator.yaml"
        #expect(source.withAbsolutePath.fileCandidates == [file])
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

        let registry = BackendRegistry.standard(without: "dbusProperty")
        let environment = ["HOME": folder.path, "XDG_CONFIG_DIRS": folder.path]
        let smaller = try IndicatorConfiguration.load(
            from: ConfigurationSource(for: "my-app", environment: environment, registry: registry)
        )
        #expect(smaller.backends.map(\.name) == ["terminalTitle"])
    }
}
