// swift-tools-version: 6.1

import PackageDescription

// A separate package, so that users of swift-indicator do not resolve the dependencies of the benchmarks.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-indicator", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    ],
    targets: [
        // The measured code, and its peers and limits.
        .target(
            name: "Workloads",
            dependencies: [
                .product(name: "IndicatorCore", package: "swift-indicator"),
                .product(name: "IndicatorTracking", package: "swift-indicator"),
            ]
        ),
        // Compares subjects with their peers and limits, and counts memory, system calls and wake-ups.
        .executableTarget(
            name: "indicator-benchmark",
            dependencies: [
                "CBusCalls",
                "Workloads",
                // The processes that it observes. They are built with it, not linked.
                "activity-probe",
                "bare-app",
                "indicator-app",
                .product(name: "IndicatorCore", package: "swift-indicator"),
                .product(name: "IndicatorReports", package: "swift-indicator"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        ),

        // The observed processes.
        .executableTarget(
            name: "activity-probe",
            dependencies: [
                "CProbe",
                "Workloads",
                .product(name: "IndicatorCore", package: "swift-indicator"),
            ]
        ),
        .executableTarget(
            name: "indicator-app",
            dependencies: [
                .product(name: "IndicatorBackends", package: "swift-indicator"),
                .product(name: "IndicatorCore", package: "swift-indicator"),
            ]
        ),
        .executableTarget(name: "bare-app"),
        // Verifies the counts after heavy use by more threads than there are cores.
        .executableTarget(
            name: "indicator-stress",
            dependencies: [.product(name: "IndicatorCore", package: "swift-indicator")]
        ),

        // Counts allocations and the bytes of the heap.
        .target(name: "CProbe"),
        // Calls a process over D-Bus, with minimal overhead.
        .target(name: "CBusCalls", dependencies: ["CLibDBus"]),
        .systemLibrary(name: "CLibDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
    ],
    swiftLanguageModes: [.v6]
)
