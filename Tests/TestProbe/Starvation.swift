import CIndicatorCurl
import Foundation
import NetworkKit
import Synchronization

/// libcurl's memory, of which a limited number of blocks can be allocated.
enum Starvation {
    /// The number of allocations that succeed from now on.
    private static let remaining = Atomic(Int.max)
    /// The number of allocated blocks.
    private static let blocks = Atomic(0)

    private static func mayAllocate() -> Bool {
        guard remaining.wrappingSubtract(1, ordering: .relaxed).newValue >= 0 else { return false }
        blocks.wrappingAdd(1, ordering: .relaxed)
        return true
    }

    private static func install() {
        curl_global_init_mem(
            Int(CURL_GLOBAL_DEFAULT),
            { size in Starvation.mayAllocate() ? malloc(size) : nil },
            { block in
                if block != nil { Starvation.blocks.wrappingSubtract(1, ordering: .relaxed) }
                free(block)
            },
            { block, size in
                if block == nil { return Starvation.mayAllocate() ? malloc(size) : nil }
                return Starvation.remaining.load(ordering: .relaxed) > 0 ? realloc(block, size) : nil
            },
            { text in text.flatMap { Starvation.mayAllocate() ? strdup($0) : nil } },
            { count, size in Starvation.mayAllocate() ? calloc(count, size) : nil }
        )
    }

    /// Makes requests for which 0, 1, 2, … allocations succeed, until one is answered.
    ///
    /// - Returns: the kinds of the failures, sorted, and the number of blocks that were not released.
    static func sweep(_ url: URL) async throws -> String {
        install()
        _ = try await NetworkClient().send(URLRoute(url))
        try await NetworkProbe.clientsEnd()
        let before = blocks.load(ordering: .relaxed)
        var kinds: Set<String> = []
        for count in 0... {
            let client = NetworkClient()
            remaining.store(count, ordering: .relaxed)
            defer { remaining.store(.max, ordering: .relaxed) }
            do {
                _ = try await client.send(URLRoute(url))
                break
            } catch NetworkError.transport(let failure) {
                kinds.insert("\(failure.kind)")
            }
        }
        try await NetworkProbe.clientsEnd()
        return "\(kinds.sorted().joined(separator: " ")), \(blocks.load(ordering: .relaxed) - before) blocks left"
    }

    /// Makes concurrent requests without memory for libcurl. Returns the number of failures.
    static func crowd(_ url: URL, _ count: Int) async throws -> Int {
        install()
        remaining.store(0, ordering: .relaxed)
        let client = NetworkClient()
        return await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    var failures = 0
                    for _ in 0..<count where (try? await client.send(URLRoute(url))) == nil { failures += 1 }
                    return failures
                }
            }
            return await group.reduce(0, +)
        }
    }
}
