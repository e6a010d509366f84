// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-indicator",
    platforms: [.macOS(.v15)],
    products: [
        .library(name: "IndicatorCore", targets: ["IndicatorCore"]),
        .library(name: "IndicatorBackends", targets: ["IndicatorBackends"]),
        .library(name: "IndicatorTesting", targets: ["IndicatorTesting"]),
        .library(name: "NetworkKit", targets: ["NetworkKit"]),
        .library(name: "NetworkKitTesting", targets: ["NetworkKitTesting"]),
        .library(name: "IndicatorOpenCombine", targets: ["IndicatorOpenCombine"]),
        .library(name: "IndicatorServiceLifecycle", targets: ["IndicatorServiceLifecycle"]),
        .executable(name: "indicator", targets: ["indicator"]),
        .library(name: "IndicatorMetrics", targets: ["IndicatorMetrics"]),
        .executable(name: "indicator-demo", targets: ["indicator-demo"]),
    ],
    traits: [
        .trait(
            name: "DesktopNotification",
            description: "The desktop notification backend; needs libdbus, and uses libnotify where it is installed.",
            enabledTraits: ["DBus"]
        ),
        .trait(name: "DBus", description: "The backends on D-Bus: property, jobs, dock, sleep; needs libdbus."),
        .trait(name: "Images", description: "Decoding of images in NetworkKit; needs gdk-pixbuf."),
        .trait(name: "MQTT", description: "The MQTT backend; needs libmosquitto and OpenSSL."),
        .default(enabledTraits: ["DesktopNotification", "DBus", "Images"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.5.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // Threads, timers, locks, and ordering between threads. Independent of indicators.
        .target(
            name: "IndicatorThreads",
            dependencies: [
                "CLinux",
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .target(
            name: "IndicatorCore",
            dependencies: [
                "CLinux",
                "IndicatorThreads",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "IndicatorBackends",
            dependencies: [
                "CLinux",
                "IndicatorCore",
                "IndicatorThreads",
                .target(name: "CDBus", condition: .when(traits: ["DBus"])),
                .target(name: "CNotify", condition: .when(traits: ["DesktopNotification"])),
                .target(name: "CMosquitto", condition: .when(traits: ["MQTT"])),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Yams", package: "Yams"),
            ],
            path: "Sources/Backends"
        ),
        // For the tests of apps: the in-memory backend and the virtual clock.
        .target(name: "IndicatorTesting", dependencies: ["IndicatorCore", "IndicatorThreads"]),
        .target(
            name: "IndicatorOpenCombine",
            dependencies: [
                "IndicatorCore",
                "IndicatorThreads",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "OpenCombine", package: "OpenCombine"),
            ]
        ),
        .target(
            name: "IndicatorServiceLifecycle",
            dependencies: [
                "IndicatorCore",
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]
        ),
        .target(
            name: "IndicatorMetrics",
            dependencies: [
                "IndicatorCore",
                "IndicatorThreads",
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ]
        ),
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(
            name: "CMosquitto",
            pkgConfig: "libmosquitto",
            providers: [.apt(["libmosquitto-dev", "libssl-dev"])]
        ),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CGdkPixbuf"),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        // Declarations only: libnotify is loaded when it is first used.
        .systemLibrary(name: "CNotify", providers: [.apt(["libnotify-dev"])]),
        // Reads JSON by tokens, with positions: for NetworkKit and for traces.
        .target(name: "JSONScanning"),
        .target(
            name: "NetworkKit",
            dependencies: [
                "CCurl",
                "CZlib",
                "IndicatorCore",
                "IndicatorThreads",
                "JSONScanning",
                .target(name: "CGdkPixbuf", condition: .when(traits: ["Images"])),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        // For the tests of apps: responses without a server.
        .target(
            name: "NetworkKitTesting",
            dependencies: [
                "IndicatorThreads",
                "NetworkKit",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        // The commands that both programs share.
        .target(
            name: "IndicatorCommands",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCore",
                "IndicatorTesting",
                "IndicatorThreads",
                "JSONScanning",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        // Declarations of the C library that its Swift module lacks.
        .systemLibrary(name: "CLinux"),
        .executableTarget(
            name: "indicator",
            dependencies: [
                "CLinux",
                "IndicatorBackends",
                "IndicatorCommands",
                "IndicatorCore",
                "IndicatorThreads",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .executableTarget(
            name: "indicator-demo",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCommands",
                "IndicatorCore",
                "IndicatorTesting",
                "IndicatorThreads",
                "NetworkKit",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "TestSupport",
            dependencies: [
                "IndicatorCore",
                "IndicatorTesting",
                "IndicatorThreads",
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            path: "Tests/TestSupport"
        ),
        .executableTarget(
            name: "terminal-title-helper",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCore",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Helpers/TerminalTitleHelper"
        ),
        .executableTarget(
            name: "terminal-progress-helper",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCore",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Helpers/TerminalProgressHelper"
        ),
        .testTarget(
            name: "IndicatorCoreTests",
            dependencies: [
                "core-probe",
                "IndicatorCore",
                "IndicatorThreads",
                "IndicatorTesting",
                "TestSupport",
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
            ],
            resources: [.copy("Resources/traces"), .copy("Resources/histories")]
        ),
        // A process that forks, and one whose clock is moved.
        .executableTarget(
            name: "core-probe",
            dependencies: ["IndicatorCore", "IndicatorThreads", .product(name: "Logging", package: "swift-log")],
            path: "Tests/Helpers/CoreProbe"
        ),
        // An app with a config file, for tests that send it signals.
        .executableTarget(
            name: "configuration-helper",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCore",
                "IndicatorTesting",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Helpers/ConfigurationHelper"
        ),
        // A process for the tests of the log file: shares a file, reaches limits, changes its user.
        .executableTarget(
            name: "log-file-writer",
            dependencies: ["IndicatorBackends", "IndicatorCore", "IndicatorThreads"],
            path: "Tests/Helpers/LogFileWriter"
        ),
        // An app with the desktop backends, which tests kill or let run out of descriptors.
        .executableTarget(
            name: "desktop-probe",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCore",
                "IndicatorThreads",
                .target(name: "CDBus", condition: .when(traits: ["DBus"])),
                .target(name: "CNotify", condition: .when(traits: ["DesktopNotification"])),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/Helpers/DesktopProbe"
        ),
        .testTarget(
            name: "IndicatorBackendsTests",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCommands",
                "IndicatorCore",
                "IndicatorTesting",
                "IndicatorThreads",
                "TestSupport",
                "configuration-helper",
                "desktop-probe",
                "log-file-writer",
                .product(name: "InMemoryLogging", package: "swift-log"),
                "terminal-progress-helper",
                "terminal-title-helper",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
        // A process that tests measure, kill, or run on a full disk.
        .executableTarget(
            name: "network-probe",
            dependencies: ["CCurl", "NetworkKit"],
            path: "Tests/Helpers/NetworkProbe"
        ),
        .testTarget(
            name: "NetworkKitTests",
            dependencies: [
                "desktop-probe",
                "IndicatorCore",
                "IndicatorTesting",
                "IndicatorThreads",
                "network-probe",
                "NetworkKit",
                "NetworkKitTesting",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ]
        ),
        .testTarget(
            name: "IndicatorOpenCombineTests",
            dependencies: [
                "IndicatorCore",
                "IndicatorTesting",
                "IndicatorThreads",
                "IndicatorOpenCombine",
                "TestSupport",
                .product(name: "OpenCombine", package: "OpenCombine"),
            ]
        ),
        // A daemon with a service group, for tests that send it signals.
        .executableTarget(
            name: "service-helper",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCore",
                "IndicatorServiceLifecycle",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            path: "Tests/Helpers/ServiceHelper"
        ),
        .testTarget(
            name: "IndicatorServiceLifecycleTests",
            dependencies: ["service-helper", "TestSupport"]
        ),
        .testTarget(
            name: "IndicatorCommandsTests",
            dependencies: [
                "desktop-probe",
                "indicator",
                "indicator-demo",
                "IndicatorBackends",
                "IndicatorCommands",
                "IndicatorCore",
                "IndicatorTesting",
                "IndicatorThreads",
                "TestSupport",
            ]
        ),
        .testTarget(
            name: "IndicatorToolTests",
            dependencies: [
                "desktop-probe",
                "indicator",
                "IndicatorCore",
                "IndicatorThreads",
                "TestSupport",
                .product(name: "Subprocess", package: "swift-subprocess"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]
        ),
        .testTarget(
            name: "IndicatorMetricsTests",
            dependencies: [
                "IndicatorCore",
                "IndicatorMetrics",
                "IndicatorTesting",
                "TestSupport",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ]
        ),
        // Measures thousands of indicators on one MQTT broker, and the cost of one in its app.
        .executableTarget(
            name: "mqtt-scale",
            dependencies: [
                "IndicatorBackends",
                "IndicatorCommands",
                "IndicatorCore",
                "IndicatorThreads",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Tests/Helpers/MQTTScale"
        ),
        .testTarget(
            name: "IndicatorDemoTests",
            dependencies: [
                "IndicatorCommands",
                "IndicatorCore",
                "IndicatorThreads",
                "indicator-demo",
                "NetworkKit",
                "TestSupport",
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// Only the libraries, without what the programs and the tests need: as a dependency of an app, and for Scripts/fuzz,
// which compiles every module for libFuzzer. SwiftPM reads the manifest of a dependency from its repository, as if that
// were the root folder, and then in a folder of its build.
let folder = Context.packageDirectory
let isDependency =
    folder == "/" || folder.contains("/.build/checkouts/") || folder.contains("/SourcePackages/checkouts/")
let isFuzzed = Context.environment["INDICATOR_FUZZ"] != nil
if isDependency || isFuzzed {
    package.targets.removeAll {
        $0.type == .test || $0.type == .executable || ["IndicatorCommands", "TestSupport"].contains($0.name)
    }
    package.products.removeAll { $0 is Product.Executable || isFuzzed }
    let packages = package.targets.flatMap(\.dependencies).compactMap { dependency in
        if case .productItem(_, let package, _, _) = dependency { package } else { nil }
    }
    package.dependencies.removeAll { dependency in
        guard case .sourceControl(_, let location, _) = dependency.kind else { return false }
        return !packages.contains { location.hasSuffix("/\($0)") }
    }
}
if isFuzzed {
    package.targets.append(
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CDBus", "IndicatorBackends", "IndicatorCore", "IndicatorTesting", "JSONScanning", "NetworkKit",
            ],
            path: "Tests/Fuzz",
            // Of the linked folder Replay, only the trace reader is compiled.
            exclude: ["Seeds", "Replay/Replayer.swift", "Replay/ReplayTimeline.swift"]
        )
    )
}

// For Scripts/thread-sanitizer: only the tests that it runs, because the sanitizer needs a full build.
if Context.environment["INDICATOR_THREAD_SANITIZER"] != nil {
    package.targets.removeAll {
        $0.type == .test && !["IndicatorBackendsTests", "IndicatorCoreTests"].contains($0.name)
    }
    for target in package.targets where target.name == "IndicatorBackendsTests" {
        target.exclude = [
            "ConfigFile", "LogFile", "Registry", "Support", "Terminal", "TerminalNotification", "TerminalProgress",
            "TerminalTitle", "Text",
        ]
    }
}

for target in package.targets where target.type != .system {
    target.swiftSettings =
        (target.swiftSettings ?? []) + [
            .enableUpcomingFeature("ExistentialAny"),
            .enableUpcomingFeature("MemberImportVisibility"),
            .enableUpcomingFeature("InternalImportsByDefault"),
        ]
}
