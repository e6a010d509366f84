// swift-tools-version: 6.2

import PackageDescription

// Products of other packages.
let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let coreMetrics = Target.Dependency.product(name: "CoreMetrics", package: "swift-metrics")
let dequeModule = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let flyingFox = Target.Dependency.product(name: "FlyingFox", package: "FlyingFox")
let flyingSocks = Target.Dependency.product(name: "FlyingSocks", package: "FlyingFox")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let inMemoryLogging = Target.Dependency.product(name: "InMemoryLogging", package: "swift-log")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metricsTestKit = Target.Dependency.product(name: "MetricsTestKit", package: "swift-metrics")
let openCombine = Target.Dependency.product(name: "OpenCombine", package: "OpenCombine")
let serviceLifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let systemPackage = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let unixSignals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")

// What a trait chooses.
let dbus = Target.Dependency.target(name: "CDBus", condition: .when(traits: ["DBus"]))
let desktopBackends = Target.Dependency.target(name: "DesktopBackends", condition: .when(traits: ["DBus"]))
let indicatorMQTT = Target.Dependency.target(name: "IndicatorMQTT", condition: .when(traits: ["MQTT"]))
let notify = Target.Dependency.target(name: "CNotify", condition: .when(traits: ["DesktopNotification"]))

let package = Package(
    name: "swift-indicator",
    platforms: [.macOS(.v15)],
    products: [
        "IndicatorCore", "IndicatorBackends", "IndicatorTesting", "IndicatorTracking", "IndicatorMetrics",
        "IndicatorOpenCombine", "IndicatorServiceLifecycle", "NetworkKit", "NetworkKitImages", "NetworkKitTesting",
    ].map { .library(name: $0, targets: [$0]) }
        + ["indicator", "indicator-demo"].map { .executable(name: $0, targets: [$0]) },
    traits: [
        .trait(
            name: "DesktopNotification",
            description: "The desktop notification backend; needs libdbus, and uses libnotify where it is installed.",
            enabledTraits: ["DBus"]
        ),
        .trait(name: "DBus", description: "The backends on D-Bus: property, jobs, dock, sleep; needs libdbus."),
        .trait(name: "MQTT", description: "The MQTT backend; needs libmosquitto."),
        .default(enabledTraits: ["DesktopNotification", "DBus"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.0"),
    ],
    targets: [
        // What the C library's Swift module lacks; threads, timers and locks; JSON by tokens, with positions.
        .systemLibrary(name: "CLinux"),
        .target(name: "IndicatorThreads", dependencies: ["CLinux"]),
        .target(name: "JSONScanning"),

        // The indicator, and for the tests of apps the in-memory backend and the virtual clock.
        .target(name: "IndicatorCore", dependencies: ["CLinux", "IndicatorThreads", logging]),
        .target(name: "IndicatorTesting", dependencies: ["IndicatorCore", "IndicatorThreads"]),

        // Several pieces of work as one value; then one adapter each.
        .target(name: "IndicatorTracking", dependencies: ["IndicatorCore", "IndicatorThreads"]),
        .target(name: "IndicatorMetrics", dependencies: ["IndicatorCore", "IndicatorThreads", coreMetrics]),
        .target(
            name: "IndicatorOpenCombine",
            dependencies: ["IndicatorCore", "IndicatorThreads", "IndicatorTracking", openCombine]
        ),
        .target(name: "IndicatorServiceLifecycle", dependencies: ["IndicatorCore", serviceLifecycle]),

        // The backends, by floors: a module uses only those above it. libnotify is loaded when it is first used:
        // CNotify has declarations only.
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(
            name: "CMosquitto",
            pkgConfig: "libmosquitto",
            providers: [.apt(["libmosquitto-dev"])]
        ),
        .systemLibrary(name: "CNotify", providers: [.apt(["libnotify-dev"])]),
        .target(name: "DisplayText", dependencies: ["IndicatorCore"], path: "Sources/Backends/Text"),
        .target(
            name: "BackendConfiguration",
            dependencies: ["DisplayText", "IndicatorCore", "IndicatorThreads", "JSONScanning", logging, yams],
            path: "Sources/Backends/Configuration"
        ),
        .target(
            name: "TerminalBackends",
            dependencies: [
                "BackendConfiguration", "CLinux", "DisplayText", "IndicatorCore", "IndicatorThreads", logging,
            ],
            path: "Sources/Backends/Terminal"
        ),
        .target(
            name: "DesktopBackends",
            dependencies: [
                "BackendConfiguration", "CDBus", "CLinux", "CNotify", "DisplayText", "IndicatorCore",
                "IndicatorThreads",
                logging,
            ],
            path: "Sources/Backends/Desktop"
        ),
        .target(
            name: "IndicatorMQTT",
            dependencies: [
                "BackendConfiguration", "CLinux", "CMosquitto", "DisplayText", "IndicatorCore", "IndicatorThreads",
            ],
            path: "Sources/Backends/MQTT"
        ),
        .target(
            name: "IndicatorBackends",
            dependencies: [
                "BackendConfiguration", "CLinux", "DisplayText", "IndicatorCore", "IndicatorThreads",
                "TerminalBackends", desktopBackends, indicatorMQTT, logging,
            ],
            path: "Sources/Backends/Standard"
        ),

        // The network starter kit, and for the tests of apps responses without a server.
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CGdkPixbuf"),
        .target(
            name: "NetworkKit",
            dependencies: ["CCurl", "IndicatorCore", "IndicatorThreads", "JSONScanning", dequeModule, httpTypes]
        ),
        .target(name: "NetworkKitImages", dependencies: ["CGdkPixbuf", "IndicatorThreads", "NetworkKit"]),
        .target(name: "NetworkKitTesting", dependencies: ["IndicatorThreads", "NetworkKit", httpTypes]),

        // The programs, and the commands that both share.
        .target(
            name: "IndicatorCommands",
            dependencies: [
                "IndicatorBackends", "IndicatorCore", "IndicatorThreads", "JSONScanning", argumentParser, dequeModule,
                logging,
            ]
        ),
        .executableTarget(
            name: "indicator",
            dependencies: [
                "CLinux", "IndicatorBackends", "IndicatorCommands", "IndicatorCore", "IndicatorThreads", argumentParser,
                logging,
            ]
        ),
        .executableTarget(
            name: "indicator-demo",
            dependencies: [
                "IndicatorBackends", "IndicatorCommands", "IndicatorCore", "IndicatorThreads",
                "IndicatorTracking", "NetworkKit", "NetworkKitImages", argumentParser, flyingFox, flyingSocks,
                httpTypes, logging,
            ]
        ),

        // The programs that the tests start. The one for the network is not part of the other: it links gdk-pixbuf, and
        // with it GLib, which a process must not have that is tested for loading libnotify late.
        .executableTarget(
            name: "test-probe",
            dependencies: [
                "IndicatorBackends", "IndicatorCore", "IndicatorServiceLifecycle", "IndicatorTesting",
                "IndicatorThreads", "IndicatorTracking", dbus, logging, notify, serviceLifecycle, unixSignals,
            ],
            path: "Tests/Helpers/TestProbe"
        ),
        .executableTarget(
            name: "network-probe",
            dependencies: ["CCurl", "NetworkKit", "NetworkKitImages"],
            path: "Tests/Helpers/NetworkProbe"
        ),

        // Measures thousands of indicators on one broker. Not in the package Benchmarks: it uses what is not public.
        .executableTarget(
            name: "mqtt-scale",
            dependencies: [
                "IndicatorBackends", "IndicatorCommands", "IndicatorCore", "IndicatorThreads", argumentParser,
            ],
            path: "Benchmarks/Sources/mqtt-scale"
        ),

        // The tests, and what they share. The fuzz targets run their seeds, or with Scripts/fuzz libFuzzer's mutations.
        .target(
            name: "TestSupport",
            dependencies: [
                "IndicatorCore", "IndicatorTesting", "IndicatorThreads", logging, subprocess, systemPackage,
            ],
            path: "Tests/TestSupport"
        ),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "BackendConfiguration", "DisplayText", "IndicatorBackends", "IndicatorCommands", "IndicatorCore",
                "JSONScanning", "NetworkKit", dbus, desktopBackends,
            ],
            path: "Tests/Fuzz",
            exclude: ["Seeds"]
        ),
        .testTarget(
            name: "IndicatorCoreTests",
            dependencies: [
                "IndicatorCore", "IndicatorTesting", "IndicatorThreads", "TestSupport", inMemoryLogging, logging,
            ],
            resources: [.copy("Resources/traces"), .copy("Resources/histories")]
        ),
        .testTarget(
            name: "IndicatorThreadsTests",
            dependencies: ["IndicatorCore", "IndicatorThreads", "TestSupport"]
        ),
        .testTarget(
            name: "IndicatorTestingTests",
            dependencies: ["IndicatorCore", "IndicatorTesting", "IndicatorThreads", "TestSupport"]
        ),
        .testTarget(
            name: "IndicatorTrackingTests",
            dependencies: [
                "IndicatorCore", "IndicatorTesting", "IndicatorThreads", "IndicatorTracking", "TestSupport",
            ]
        ),
        .testTarget(
            name: "DisplayTextTests",
            dependencies: ["DisplayText", "IndicatorCore", "TestSupport"],
            path: "Tests/Backends/Text"
        ),
        .testTarget(
            name: "BackendConfigurationTests",
            dependencies: [
                "BackendConfiguration", "IndicatorBackends", "IndicatorCore", "IndicatorTesting", "IndicatorThreads",
                "TerminalBackends", "TestSupport", "test-probe", inMemoryLogging,
                logging,
            ],
            path: "Tests/Backends/Configuration"
        ),
        .testTarget(
            name: "TerminalBackendsTests",
            dependencies: [
                "BackendConfiguration", "DisplayText", "IndicatorCore", "IndicatorTesting", "IndicatorThreads",
                "TerminalBackends", "TestSupport", "test-probe", logging,
            ],
            path: "Tests/Backends/Terminal"
        ),
        .testTarget(
            name: "DesktopBackendsTests",
            dependencies: [
                "BackendConfiguration", "DisplayText", "IndicatorBackends", "IndicatorCommands", "IndicatorCore",
                "IndicatorTesting", "IndicatorThreads", "TestSupport", "test-probe", "indicator", desktopBackends,
                logging,
            ],
            path: "Tests/Backends/Desktop"
        ),
        .testTarget(
            name: "IndicatorMQTTTests",
            dependencies: [
                "BackendConfiguration", "IndicatorBackends", "IndicatorCommands", "IndicatorCore", "IndicatorThreads",
                "TestSupport", "test-probe", indicatorMQTT,
            ],
            path: "Tests/Backends/MQTT"
        ),
        .testTarget(
            name: "IndicatorBackendsTests",
            dependencies: [
                "BackendConfiguration", "DisplayText", "IndicatorBackends", "IndicatorCore", "IndicatorTesting",
                "IndicatorThreads", "TestSupport", "test-probe", inMemoryLogging, logging, subprocess,
            ],
            path: "Tests/Backends/Standard"
        ),
        .testTarget(
            name: "NetworkKitTests",
            dependencies: [
                "IndicatorCore", "IndicatorTesting", "IndicatorThreads", "NetworkKit", "NetworkKitImages",
                "NetworkKitTesting", "TestSupport", "test-probe", "network-probe", httpTypes, subprocess,
            ]
        ),
        // As an app: public API only.
        .testTarget(
            name: "NetworkKitAppTests",
            dependencies: ["NetworkKit", "NetworkKitImages", "NetworkKitTesting", httpTypes],
            packageAccess: false
        ),
        .testTarget(
            name: "IndicatorMetricsTests",
            dependencies: [
                "IndicatorCore", "IndicatorMetrics", "IndicatorTesting", "TestSupport", coreMetrics, metricsTestKit,
            ]
        ),
        .testTarget(
            name: "IndicatorOpenCombineTests",
            dependencies: [
                "IndicatorCore", "IndicatorOpenCombine", "IndicatorTesting", "IndicatorThreads", "IndicatorTracking",
                "TestSupport", openCombine,
            ]
        ),
        .testTarget(name: "IndicatorServiceLifecycleTests", dependencies: ["TestSupport", "test-probe"]),
        .testTarget(
            name: "IndicatorCommandsTests",
            dependencies: [
                "IndicatorBackends", "IndicatorCommands", "IndicatorCore", "IndicatorTesting", "IndicatorThreads",
                "TestSupport", "test-probe", "indicator", "indicator-demo", desktopBackends,
            ]
        ),
        .testTarget(
            name: "indicatorTests",
            dependencies: [
                "IndicatorCore", "IndicatorThreads", "TestSupport", "test-probe", "indicator", subprocess,
                systemPackage,
            ]
        ),
        // The code of the README and the articles.
        .testTarget(name: "DocumentationTests"),
        .testTarget(
            name: "IndicatorDemoTests",
            dependencies: [
                "IndicatorCommands", "IndicatorCore", "IndicatorThreads", "IndicatorTracking", "NetworkKit",
                "NetworkKitImages", "TestSupport", "indicator-demo", flyingFox, flyingSocks, httpTypes,
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// For a sanitizer, which needs a build of its own: INDICATOR_TESTS=IndicatorCoreTests,… keeps only these test targets.
if let kept = Context.environment["INDICATOR_TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !kept.contains($0.name) }
}

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ]
}
