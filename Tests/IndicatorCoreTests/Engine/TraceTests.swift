import Foundation
import IndicatorCore
import IndicatorTesting
import Testing

/// A worked example: events in, changes of visibility out, in integer milliseconds.
struct Trace: Decodable, CustomTestStringConvertible {
    struct Event: Decodable {
        enum Kind: String, Decodable {
            case start
            case stop
            case enable
            case disable
        }

        var t_ms: Int
        var event: Kind
        var id: String?

        var replayed: ActivityReplay.Event {
            switch event {
            case .start: .start(id: id)
            case .stop: .stop(id: id)
            case .enable: .enable
            case .disable: .disable
            }
        }
    }

    struct Change: Decodable, Equatable {
        var t_ms: Int
        var visible: Bool
    }

    var name: String
    var start_delay_ms: Int
    var completion_delay_ms: Int
    var minimum_visible_time_ms: Int
    var events: [Event]
    var expected: [Change]

    var testDescription: String { name }

    var delays: IndicatorDelays {
        get throws {
            try IndicatorDelays(
                startDelay: .milliseconds(start_delay_ms),
                completionDelay: .milliseconds(completion_delay_ms),
                minimumVisibleTime: .milliseconds(minimum_visible_time_ms)
            )
        }
    }

    static var all: [Trace] {
        get throws {
            let folder = try #require(Bundle.module.resourceURL).appendingPathComponent("traces")
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            return try files.filter { $0.pathExtension == "json" }
                .map { try JSONDecoder().decode(Trace.self, from: Data(contentsOf: $0)) }
                .sorted { $0.name < $1.name }
        }
    }
}

extension Trace.Change {
    init(_ change: VisibilityChange) {
        self.init(t_ms: Int(change.instant / .milliseconds(1)), visible: change.isVisible)
    }
}

@Suite struct TraceTests {
    @Test func `Every worked example is found`() throws {
        #expect(try Trace.all.count == 20)
    }

    @Test(arguments: try Trace.all)
    func `A worked example holds exactly`(_ trace: Trace) throws {
        let replay = ActivityReplay(delays: try trace.delays)
        var changes: [Trace.Change] = []
        for event in trace.events {
            changes += replay.apply(event.replayed, at: .milliseconds(event.t_ms)).map(Trace.Change.init)
        }
        changes += replay.finish().map(Trace.Change.init)
        #expect(changes == trace.expected)
    }
}
