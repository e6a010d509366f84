// swift-tools-version: 6.2

import PackageDescription

// In your own package, use the repository's URL instead of the path.
let indicator: [Target.Dependency] = [
    .product(name: "IndicatorBackends", package: "swift-indicator"),
    .product(name: "IndicatorCore", package: "swift-indicator"),
]

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-indicator", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // A minimal program.
        .executableTarget(name: "quick-start", dependencies: indicator),
        // Parallel downloads, with a bar for each and log lines above them.
        .executableTarget(
            name: "downloads",
            dependencies: indicator + [
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NetworkKit", package: "swift-indicator"),
            ]
        ),
        // The same as a command-line tool: a total, retry, resume in later runs, all failures.
        .executableTarget(
            name: "downloader",
            dependencies: indicator + [
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "NetworkKit", package: "swift-indicator"),
            ]
        ),
        // A service with its own config file and backend.
        .executableTarget(
            name: "daemon",
            dependencies: indicator + [
                .product(name: "IndicatorServiceLifecycle", package: "swift-indicator"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Yams", package: "Yams"),
            ]
        ),
        // Interruptible stages, each a loop whose steps may fail.
        .executableTarget(name: "pipeline", dependencies: indicator),
    ]
)

// Typical usages, which must compile with each setting that an app may have: with the Swift 6 mode alone, with the main
// actor as the default isolation, with asynchronous functions that run on their caller's actor, and with Xcode's
// settings for new apps. The folders are links to one.
let settings: [String: [SwiftSetting]] = [
    "usages": [],
    "usages-main-actor": [.defaultIsolation(MainActor.self)],
    "usages-nonsending": [.enableUpcomingFeature("NonisolatedNonsendingByDefault")],
    "usages-app": [
        .defaultIsolation(MainActor.self),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
    ],
]
for (name, settings) in settings.sorted(by: { $0.key < $1.key }) {
    package.targets.append(
        .executableTarget(
            name: name,
            dependencies: [
                .product(name: "IndicatorCore", package: "swift-indicator"),
                .product(name: "IndicatorTesting", package: "swift-indicator"),
                .product(name: "IndicatorTracking", package: "swift-indicator"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NetworkKit", package: "swift-indicator"),
            ],
            swiftSettings: settings
        )
    )
}
