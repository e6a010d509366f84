// swift-tools-version: 6.2

import PackageDescription

// In your own package, use the repository's URL instead of the path.
func indicator(_ product: String) -> Target.Dependency { .product(name: product, package: "swift-indicator") }

let package = Package(
    name: "TrayIndicator",
    platforms: [.macOS(.v15)],
    products: [.library(name: "TrayIndicator", targets: ["TrayIndicator"])],
    dependencies: [
        .package(name: "swift-indicator", path: "../.."),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        // The backend: an icon in the tray.
        .target(name: "TrayIndicator", dependencies: [indicator("IndicatorBackends")]),
        // An app that has it.
        .executableTarget(name: "tray-demo", dependencies: ["TrayIndicator", indicator("IndicatorBackends")]),
        .testTarget(
            name: "TrayIndicatorTests",
            dependencies: [
                "TrayIndicator", indicator("IndicatorBackends"), indicator("IndicatorTesting"),
                .product(name: "Logging", package: "swift-log"),
            ],
            exclude: ["watcher.py"]
        ),
    ]
)
