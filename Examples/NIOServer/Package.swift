// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "NIOServer",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "swift-indicator", path: "../.."),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    ],
    targets: [
        .executableTarget(
            name: "nio-server",
            dependencies: [
                .product(name: "IndicatorBackends", package: "swift-indicator"),
                .product(name: "IndicatorCore", package: "swift-indicator"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        )
    ]
)
