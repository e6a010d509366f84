// swift-tools-version: 6.2

import Foundation
import PackageDescription

// What several targets use.
let core = "CIndicatorLinux IndicatorCore Logging"
let backend = "\(core) BackendConfiguration"
let network = "HTTPTypes NetworkKit NetworkKitImages"
let commands = "\(core) ArgumentParser IndicatorBackends IndicatorCommands IndicatorTesting"
let testing = "IndicatorCore IndicatorTesting Logging TestSupport"
let backendTesting = """
    \(testing) BackendConfiguration DBus:DesktopBackends InMemoryLogging IndicatorBackends \
    MQTT:IndicatorMQTT test-probe
    """

// Checked out for an app, this package has only its libraries: the app neither resolves what only programs and tests
// use, nor builds their plug-ins. SwiftPM reads a manifest first in the repository, whose folder it calls "/", and then
// in `checkouts` beside `repositories`; a clone in a folder of that name is none.
let folder = Context.packageDirectory
let isDependency =
    folder == "/"
    || folder.contains("/checkouts/") && FileManager.default.fileExists(atPath: folder + "/../../repositories")

let package = Package(
    name: "swift-indicator",
    platforms: [.macOS(.v15)],
    products: [
        "IndicatorCore", "IndicatorBackends", "IndicatorTesting", "IndicatorTracking", "IndicatorReports",
        "IndicatorMetrics", "IndicatorOpenCombine", "IndicatorServiceLifecycle", "NetworkKit", "NetworkKitImages",
        "NetworkKitTesting",
    ].map { .library(name: $0, targets: [$0]) }
        + (isDependency ? [] : ["indicator", "indicator-demo"]).map { .executable(name: $0, targets: [$0]) },
    traits: [
        // One is the default: SwiftPM passes traits to the compiler in an order that varies, and with two, an app that
        // edits its manifest would compile this package again.
        .trait(name: "DBus", description: "The desktop: notification, property, jobs, dock, sleep. Needs no headers."),
        .trait(name: "MQTT", description: "The MQTT backend; needs libmosquitto-dev to build."),
        .default(enabledTraits: ["DBus"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ]
        + (isDependency
            ? []
            : [
                .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
                .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
                .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
                .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.0"),
            ]),
    targets: [
        // What the C library's Swift module lacks; JSON by tokens, with positions.
        library("Linux"),
        module("JSONScanning"),

        // The indicator; for tests of apps, the in-memory backend and the virtual clock; pieces of work as one value.
        module("IndicatorCore", "CIndicatorLinux Logging"),
        module("IndicatorTesting", "IndicatorCore"),
        module("IndicatorTracking", "IndicatorCore"),
        module("IndicatorReports", "IndicatorCore"),
        module("IndicatorMetrics", "IndicatorCore CoreMetrics"),
        module("IndicatorOpenCombine", "IndicatorCore IndicatorTracking OpenCombine"),
        module("IndicatorServiceLifecycle", "IndicatorCore ServiceLifecycle"),

        // The backends, by floors: a module uses only those above it.
        library("DBus", packages: ["libdbus-1-3"]),
        library("Mosquitto", packages: ["libmosquitto1", "libmosquitto-dev"]),
        library("Notify", packages: ["libnotify4"]),
        module("BackendConfiguration", "\(core) Yams", path: "Sources/Backends/Configuration"),
        module("DesktopBackends", "\(backend) CIndicatorDBus CIndicatorNotify", path: "Sources/Backends/Desktop"),
        module("IndicatorMQTT", "\(backend) CIndicatorMosquitto", path: "Sources/Backends/MQTT"),
        module(
            "IndicatorBackends",
            "\(backend) DBus:DesktopBackends MQTT:IndicatorMQTT",
            path: "Sources/Backends/Standard"
        ),

        // The network starter kit.
        library("Curl", packages: ["libcurl4-openssl-dev", "zlib1g-dev"]),
        library("GdkPixbuf", packages: ["libgdk-pixbuf-2.0-0"]),
        module("NetworkKit", "CIndicatorCurl HTTPTypes IndicatorCore Logging"),
        module("NetworkKitImages", "CIndicatorGdkPixbuf IndicatorCore NetworkKit"),
        module("NetworkKitTesting", "HTTPTypes IndicatorCore NetworkKit"),

        // The programs.
        module("IndicatorCommands", "\(core) ArgumentParser IndicatorBackends IndicatorTesting JSONScanning"),
        program("indicator", "\(commands) InMemoryLogging IndicatorReports"),
        program("indicator-demo", "\(commands) \(network) FlyingFox FlyingSocks IndicatorTracking"),

        // What tests share, and the program that they start.
        module(
            "TestSupport",
            "\(core) BackendConfiguration IndicatorTesting Subprocess SystemPackage",
            path: "Tests/TestSupport"
        ),
        program(
            "test-probe",
            """
            \(core) BackendConfiguration IndicatorBackends IndicatorServiceLifecycle IndicatorTesting \
            IndicatorTracking NetworkKit NetworkKitImages ServiceLifecycle UnixSignals DBus:CIndicatorNotify
            """,
            path: "Tests/TestProbe"
        ),
        // They use what is not public. The fuzz targets run their seeds, or with Scripts/fuzz libFuzzer's mutations.
        program(
            "fuzz",
            "\(commands) \(backend) DBus:CIndicatorDBus DBus:DesktopBackends IndicatorReports JSONScanning NetworkKit",
            path: "Tests/Fuzz",
            exclude: ["Seeds"]
        ),
        program("mqtt-scale", commands, path: "Benchmarks/Sources/mqtt-scale"),

        tests(
            "IndicatorCoreTests",
            "\(testing) InMemoryLogging",
            resources: ["Resources/histories", "Resources/traces"]
        ),
        tests("IndicatorTestingTests", testing),
        tests("IndicatorTrackingTests", "\(testing) IndicatorTracking"),
        tests("IndicatorReportsTests", "\(testing) IndicatorReports indicator"),
        tests("IndicatorMetricsTests", "\(testing) CoreMetrics IndicatorMetrics MetricsTestKit"),
        tests(
            "IndicatorOpenCombineTests",
            "\(testing) IndicatorOpenCombine IndicatorTracking OpenCombine OpenCombineDispatch"
        ),
        tests("IndicatorServiceLifecycleTests", "TestSupport test-probe"),
        tests("BackendConfigurationTests", backendTesting, path: "Tests/Backends/Configuration"),
        tests("DesktopBackendsTests", "\(backendTesting) \(commands) indicator", path: "Tests/Backends/Desktop"),
        tests("IndicatorMQTTTests", "\(backendTesting) IndicatorCommands indicator", path: "Tests/Backends/MQTT"),
        tests("IndicatorBackendsTests", "\(backendTesting) Subprocess", path: "Tests/Backends/Standard"),
        tests("NetworkKitTests", "\(testing) \(network) InMemoryLogging NetworkKitTesting Subprocess test-probe"),
        // As an app: public API only.
        tests("NetworkKitAppTests", "\(network) NetworkKitTesting", packageAccess: false),
        tests("IndicatorCommandsTests", "\(backendTesting) \(commands) indicator indicator-demo"),
        tests("indicatorTests", "\(testing) Subprocess SystemPackage indicator test-probe"),
        tests(
            "IndicatorDemoTests",
            "\(testing) \(network) \(commands) FlyingFox FlyingSocks IndicatorTracking indicator-demo"
        ),
        tests("FuzzTests", "TestSupport fuzz"),
        tests(
            "DocumentationTests",
            """
            TestSupport test-probe IndicatorMetrics IndicatorOpenCombine IndicatorServiceLifecycle IndicatorTesting \
            IndicatorTracking NetworkKitImages NetworkKitTesting
            """
        ),
    ],
    swiftLanguageModes: [.v6]
)

// A C library, and the Debian packages that it needs, here or where the program runs. An app may have a target CDBus of
// its own, and names of targets are unique in all packages that it uses.
func library(_ name: String, packages: [String] = []) -> Target {
    .systemLibrary(name: "CIndicator\(name)", path: "Sources/C\(name)", providers: [.apt(packages)])
}
// A target and what it uses: targets of this package, products of others, and as TRAIT:TARGET what a trait chooses.
func module(_ name: String, _ uses: String = "", path: String? = nil) -> Target {
    .target(name: name, dependencies: dependencies(uses), path: path)
}
func program(_ name: String, _ uses: String, path: String? = nil, exclude: [String] = []) -> Target {
    .executableTarget(name: name, dependencies: dependencies(uses), path: path, exclude: exclude)
}
func tests(
    _ name: String,
    _ uses: String = "",
    path: String? = nil,
    resources: [String] = [],
    packageAccess: Bool = true
) -> Target {
    .testTarget(
        name: name,
        dependencies: dependencies(uses),
        path: path,
        resources: resources.map { .copy($0) },
        packageAccess: packageAccess
    )
}
func dependencies(_ names: String) -> [Target.Dependency] {
    let packages = [
        "ArgumentParser": "swift-argument-parser", "CoreMetrics": "swift-metrics", "FlyingFox": "FlyingFox",
        "FlyingSocks": "FlyingFox", "HTTPTypes": "swift-http-types", "InMemoryLogging": "swift-log",
        "Logging": "swift-log", "MetricsTestKit": "swift-metrics", "OpenCombine": "OpenCombine",
        "OpenCombineDispatch": "OpenCombine", "ServiceLifecycle": "swift-service-lifecycle",
        "Subprocess": "swift-subprocess", "SystemPackage": "swift-system", "UnixSignals": "swift-service-lifecycle",
        "Yams": "Yams",
    ]
    // Only the modules for other libraries use these: an app that takes this package without the default trait does not
    // resolve them.
    let optional = [
        "OpenCombine", "OpenCombineDispatch", "CoreMetrics", "MetricsTestKit", "ServiceLifecycle", "UnixSignals",
    ]
    // Sorted, because a name may come twice, and the order must not change: the compiler's arguments depend on it.
    return Set(names.split(separator: " ").map(String.init)).sorted().map { name in
        let parts = name.split(separator: ":").map(String.init)
        if parts.count == 2 { return .target(name: parts[1], condition: .when(traits: [parts[0]])) }
        let condition = optional.contains(name) ? TargetDependencyCondition.when(traits: ["DBus"]) : nil
        return packages[name].map { .product(name: name, package: $0, condition: condition) } ?? .byName(name: name)
    }
}
if isDependency {
    let programs = ["IndicatorCommands", "TestSupport"]
    package.targets.removeAll { $0.type == .test || $0.type == .executable || programs.contains($0.name) }
}
// For a sanitizer, which needs a build of its own: INDICATOR_TESTS=IndicatorCoreTests,… keeps only these test targets.
if let kept = Context.environment["INDICATOR_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !kept.contains($0.name) }
}

for target in package.targets where target.type != .system {
    target.swiftSettings = ["ExistentialAny", "MemberImportVisibility", "InternalImportsByDefault"]
        .map { .enableUpcomingFeature($0) }
}
