import Workloads

/// The measurements, in the order of the table.
struct Plan {
    /// A step with one or more figures.
    struct Step {
        /// The names of the figures.
        var names: [String]
        /// Measures them.
        var measure: (Scale) throws -> [Figure]
    }

    let steps: [Step]

    /// Creates a plan.
    ///
    /// - Parameter names: the names of the figures to measure; empty for all.
    init(only names: [String] = []) {
        steps = Self.all.filter { step in names.isEmpty || step.names.contains(where: names.contains) }
    }

    /// The names of all figures.
    static var names: [String] { all.flatMap(\.names) }

    private static var all: [Step] {
        Comparison.all.map { comparison in Step(names: [comparison.name]) { [comparison.measure($0)] } }
            + [
                Step(names: ["property-get"]) { [try PropertyGet.measure($0)] },
                Step(names: ActivityCosts.memoryNames, measure: ActivityCosts.countBytes),
                Step(names: [ActivityCosts.allocationsName]) { [try ActivityCosts.countAllocations($0)] },
                Step(names: [LongestWait.name]) { [LongestWait.measure($0)] },
                Step(names: [SystemCalls.name]) { [try SystemCalls.count($0)] },
                Step(names: WakeUps.names, measure: WakeUps.count),
                Step(names: BackendCosts.names, measure: BackendCosts.measure),
                Step(names: StartUp.names, measure: StartUp.count),
            ]
            + zip(ReportCosts.names, ReportCosts.measurements).map { name, measure in
                Step(names: [name]) { [try measure($0)] }
            }
    }

    /// Runs all steps. A step that throws yields figures with the reason.
    func run(_ scale: Scale, willMeasure: ([String]) -> Void) -> [Figure] {
        steps.flatMap { step in
            willMeasure(step.names)
            do {
                return try step.measure(scale)
            } catch {
                return step.names.map { Figure(name: $0, title: $0, outcome: .leftOut("\(error)")) }
            }
        }
    }
}
