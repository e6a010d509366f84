// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Downloads",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-indicator", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .executableTarget(
            name: "downloads",
            dependencies: [
                .product(name: "IndicatorBackends", package: "swift-indicator"),
                .product(name: "IndicatorCore", package: "swift-indicator"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NetworkKit", package: "swift-indicator"),
            ]
        )
    ]
)
