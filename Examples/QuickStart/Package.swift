// swift-tools-version: 6.2

import PackageDescription

// In a package of your own, name the repository instead of the path.
let package = Package(
    name: "QuickStart",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-indicator", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "quick-start",
            dependencies: [
                .product(name: "IndicatorBackends", package: "swift-indicator"),
                .product(name: "IndicatorCore", package: "swift-indicator"),
            ]
        )
    ]
)
