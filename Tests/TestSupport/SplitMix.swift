/// Runs traces of consecutive seeds, until one of them is wrong: it returns what is. `INDICATOR_TEST_SEED` has the
/// first seed, to repeat a trace.
package func forEachSeed(
    _ count: Int,
    location: SourceLocation = #_sourceLocation,
    _ trace: (UInt64) throws -> String?
) async rethrows {
    let first = ProcessInfo.processInfo.environment["INDICATOR_TEST_SEED"].flatMap(UInt64.init) ?? 20_240_601
    for index in 0..<UInt64(count) {
        // Lets concurrent tests run.
        if index.isMultiple(of: 20) { await Task.yield() }
        guard let wrong = try trace(first &+ index) else { continue }
        Issue.record("seed \(first &+ index): \(wrong)", sourceLocation: location)
        return
    }
}

/// The generator of Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014): the same numbers
/// for the same seed everywhere.
package struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    package init(state: UInt64) { self.state = state }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
