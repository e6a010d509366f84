import Benchmark
import Workloads

/// The workloads of `indicator-benchmark` under ordo-one/benchmark: each subject, and each peer or limit.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.wallClock, .cpuTotal, .throughput],
        scalingFactor: .kilo,
        maxDuration: .seconds(1),
        maxIterations: 1_000
    )
    for comparison in Comparison.all {
        for variant in comparison.variants {
            let name = variant.name.isEmpty ? comparison.name : "\(comparison.name), \(variant.name)"
            measure(name) { variant.setUp().subject }
            if let peer = comparison.peer { measure("\(name): \(peer)") { variant.setUp().reference } }
        }
    }
}

private func measure(_ name: String, _ setUp: @escaping @Sendable () -> Workload?) {
    Benchmark(name) { benchmark in
        guard let workload = setUp() else { return }
        // Warm up: one-time costs are not measured.
        _ = workload.run(10)
        benchmark.startMeasurement()
        blackHole(workload.run(benchmark.scaledIterations.count))
        benchmark.stopMeasurement()
    }
}
