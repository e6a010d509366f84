import CBusCalls
import Foundation
import Workloads

/// Compares reading a property of an app from another process with a ping of that app.
enum PropertyGet {
    static func measure(_ scale: Scale) throws -> Figure {
        let bus = try PrivateBus()
        let app = try IndicatorApp(on: bus)
        try app.show()
        let caller = try Caller(bus)
        let comparison = Comparison(
            "property-get",
            "reading a property over D-Bus",
            peer: "Peer.Ping to the same process",
            goal: 1.3,
            variants: ["Visible", "Label"].map { property in
                Comparison.Variant(property) {
                    Contestants(
                        Workload { caller.get(property, $0) },
                        reference: Workload { caller.ping($0) }
                    )
                }
            }
        )
        // More repetitions, because three processes take part, and one of them often has to wait for a processor.
        var scale = scale
        scale.repetitions *= 3
        let figure = comparison.measure(scale)
        guard !caller.hasFailed else { throw Child.Failure(description: "the app did not reply to every call") }
        try app.finish()
        return figure
    }

    /// A connection of this process to the bus.
    private final class Caller: @unchecked Sendable {
        // `@unchecked`: used only on the measuring thread.

        private static let path = "/org/activityindicator/Indicator1"
        private static let interface = "org.activityindicator.Indicator1"

        private let handle: OpaquePointer
        private(set) var hasFailed = false

        init(_ bus: PrivateBus) throws {
            guard let handle = bus_caller_open(bus.address) else {
                throw Child.Failure(description: "could not connect to \(bus.address)")
            }
            self.handle = handle
        }

        deinit { bus_caller_close(handle) }

        func ping(_ count: Int) {
            if !bus_caller_ping(handle, IndicatorApp.busName, Self.path, count) { hasFailed = true }
        }

        func get(_ property: String, _ count: Int) {
            let isAnswered = bus_caller_get(handle, IndicatorApp.busName, Self.path, Self.interface, property, count)
            if !isAnswered { hasFailed = true }
        }
    }
}
