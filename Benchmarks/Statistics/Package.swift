// swift-tools-version: 6.1

import PackageDescription

// The workloads of the benchmarks under ordo-one/benchmark, for its statistics: `swift package benchmark`. A separate
// package, because SwiftPM builds the tool of that package's plugin, with its libraries, for every product.
let package = Package(
    name: "Statistics",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "Benchmarks", path: ".."),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "IndicatorBenchmarks",
            dependencies: [
                .product(name: "Workloads", package: "Benchmarks"),
                .product(name: "Benchmark", package: "benchmark"),
            ],
            path: "Benchmarks/IndicatorBenchmarks",
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        )
    ],
    swiftLanguageModes: [.v6]
)
