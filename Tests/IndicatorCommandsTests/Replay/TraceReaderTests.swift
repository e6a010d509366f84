import Foundation
import IndicatorCore
import IndicatorTesting
import TestSupport
import Testing

@testable import IndicatorCommands

@Suite struct TraceReaderTests {
    private struct Collector: TraceConsumer {
        var delays: [TraceDelays] = []
        var events: [TraceEvent] = []

        mutating func begin(delays: TraceDelays) { self.delays.append(delays) }
        mutating func apply(_ event: TraceEvent) { events.append(event) }
        mutating func flush() {}

        var origin: Date?
        var changes: [VisibilityChange] = []
        mutating func beginLog(origin: Date) { self.origin = origin }
        mutating func note(_ change: VisibilityChange) { changes.append(change) }
    }

    private func read(_ text: String) throws -> Collector {
        try read(Array(text.utf8))
    }

    private func read(_ bytes: [UInt8]) throws -> Collector {
        let folder = try TemporaryDirectory()
        let path = folder.appending("t")
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        var collector = Collector()
        do {
            try TraceReader(path: path).read(into: &collector)
        } catch var error as TraceError {
            error.file = "t"
            throw error
        }
        return collector
    }

    @Test func `A trace of lines is read`() throws {
        let text = """
            {"t_ms": 0, "event": "start", "id": "a"}

            { "event":"stop" , "t_ms":12 }\r
            {"id":"\\u00e9\\n","event":"enable","t_ms":12}
              \t
            {"t_ms":9000000000000,"event":"disable"}
            """
        let collected = try read(text)
        #expect(collected.delays == [TraceDelays()])
        #expect(
            collected.events == [
                TraceEvent(milliseconds: 0, event: .start(id: "a")),
                TraceEvent(milliseconds: 12, event: .stop(id: nil)),
                TraceEvent(milliseconds: 12, event: .enable),
                TraceEvent(milliseconds: 9_000_000_000_000, event: .disable),
            ]
        )
    }

    @Test func `A log is read with the times at which the indicator was shown`() throws {
        // None of the processes runs.
        func line(_ second: Double, _ event: String, _ more: String = "", app: String = "x", pid: Int = 1 << 30)
            -> String
        {
            #"{"time":"2026-11-26T14:02:0\#(second)Z","event":"\#(event)",\#(more)"app":"\#(app)","pid":\#(pid)}"#
                + "\n"
        }
        let log = [
            line(0.5, "shown"),
            line(3.0, "finished", #""label":"a","outcome":"succeeded","seconds":3.5,"#),
            // Another process, which is killed, and one that gets its number.
            line(4.0, "shown", pid: 1 << 29), line(4.5, "hidden"),
            line(5.0, "finished", #""label":"b","outcome":"failed","seconds":5.0,"#, pid: 1 << 29),
            line(7.0, "shown", pid: 1 << 29), line(8.0, "hidden", pid: 1 << 29),
            line(9.0, "finished", #""label":"a","outcome":"succeeded","seconds":1.0,"#),
        ].joined()
        let collected = try read(log)
        #expect(
            collected.events == [
                TraceEvent(milliseconds: 0, event: .start(id: "a")),
                TraceEvent(milliseconds: 500, event: .start(id: "b")),
                TraceEvent(milliseconds: 3500, event: .stop(id: "a")),
                TraceEvent(milliseconds: 5500, event: .stop(id: "b")),
                TraceEvent(milliseconds: 8500, event: .start(id: "a")),
                TraceEvent(milliseconds: 9500, event: .stop(id: "a")),
            ]
        )
        #expect(
            collected.changes == [
                VisibilityChange(isVisible: true, instant: .seconds(1)),
                VisibilityChange(isVisible: false, instant: .seconds(5.5)),
                VisibilityChange(isVisible: true, instant: .seconds(7.5)),
                VisibilityChange(isVisible: false, instant: .seconds(8.5)),
            ]
        )
        #expect(collected.delays.isEmpty)
        #expect(throws: TraceError.self) { try read(line(1, "shown") + "broken\n" + line(2, "hidden")) }
        #expect(try read(log + #"{"time":"2026"#).events == collected.events)
        // This process shows it, and is not the last one that wrote.
        let running = line(1, "shown", #""label":"b","#, pid: Int(getpid())) + line(2, "shown") + line(3, "hidden")
        #expect(try read(running).changes == [VisibilityChange(isVisible: true, instant: .zero)])
        #expect(try read(running).events == [TraceEvent(milliseconds: 0, event: .start(id: "b"))])
        let other = line(9.5, "finished", #""label":"a","outcome":"succeeded","seconds":1,"#, app: "y")
        #expect(try read(log + other).events.contains(TraceEvent(milliseconds: 9000, event: .start(id: "y: a"))))
        let text = #expect(throws: TraceError.self) { try read("2026-11-26T14:02:00Z shown\n") }
        #expect(text?.message == "a line of a log in text; only logs with 'format: json' can be replayed")
    }

    @Test(arguments: [#"{"id": "a", "t_ms": 5, "event": "start"}"#, #"{"event": "start", "t_ms": 5, "id": "a"}"#])
    func `The keys of an event may have any order`(line: String) throws {
        #expect(try read(line).events == [TraceEvent(milliseconds: 5, event: .start(id: "a"))])
    }

    @Test func `Decodes escapes of identities`() throws {
        let collected = try read(#"{"t_ms": 0, "event": "start", "id": "\u00e9\n\"\ud83d\ude00"}"#)
        #expect(collected.events.map(\.event) == [.start(id: "é\n\"😀")])
    }

    @Test func `Decodes escapes of keys and events`() throws {
        let event = TraceEvent(milliseconds: 5, event: .start(id: "a"))
        let line = #"{"\u0074_ms": 5, "\u0065vent": "st\u0061rt", "i\u0064": "a"}"#
        #expect(try read(line).events == [event])
        #expect(try read(#"{"\u0065vents": [\#(line)]}"#).events == [event])
    }

    @Test func `Skips a byte order mark`() throws {
        let lines = #"{"t_ms": 5, "event": "start"}"# + "\n" + #"{"t_ms": 9007199254740991, "event": "stop"}"#
        #expect(try read("\u{FEFF}" + lines).events == read(lines).events)
        #expect(try read("\u{FEFF}" + #"{"events": []}"#).events == [])
        #expect(try read("\u{FEFF}").events == [])
        #expect(throws: TraceError.self) { try read("\u{FEFF}\u{FEFF}" + lines) }
    }

    @Test func `Reads an object whatever the order of its keys`() throws {
        let text = """
            {"events": [{"t_ms": 1, "event": "start"}, {"t_ms": 2, "event": "stop"}],
             "expected": [{"t_ms": 1, "visible": true, "why": [null, -1.5e3, {}]}], "name": "x", "completion_delay_ms": 7,
             "start_delay_ms": 0}
            """
        let collected = try read(text)
        #expect(collected.delays == [TraceDelays(startDelay: 0, completionDelay: 7, minimumVisibleTime: nil)])
        #expect(collected.events.count == 2)
    }

    @Test func `Times and delays may be seconds, by the names of the config file`() throws {
        let collected = try read(
            #"{"startDelay": 0.5, "completionDelay": 2, "events": [{"time": 1.8004, "event": "start"}]}"#
        )
        #expect(collected.delays == [TraceDelays(startDelay: 500, completionDelay: 2000)])
        #expect(collected.events == [TraceEvent(milliseconds: 1800, event: .start(id: nil), isInSeconds: true)])
    }

    @Test func `An empty trace has no events`() throws {
        #expect(try read("").events == [])
        #expect(try read("\n \n").events == [])
        #expect(try read(#"{"events": []}"#).events == [])
    }

    @Test func `Reads lines longer than the buffer`() throws {
        let long = String(repeating: "x", count: 300_000)
        let line = #"{"t_ms": 0, "event": "start", "id": "\#(long)"}"# + "\n"
        let collected = try read(line + line)
        #expect(collected.events.map(\.event) == [.start(id: long), .start(id: long)])
    }

    @Test(arguments: [
        (#"{"t_ms": 5, "event": "start"} x"#, "t:2: error: expected the end of the line, found 'x'"),
        (#"{"t_ms": 5, "event": "start"}{}"#, "t:2: error: expected the end of the line, found '{'"),
        (#"{"t_ms": 5, "event": "start""#, "t:2: error: expected ',' or '}', found the end"),
        (#"{"t_ms": 5, "event": "start",}"#, "t:2: error: expected a string, found '}'"),
        (
            #"{"t_ms": 5, "event": "begin"}"#,
            "t:2: error: unknown event 'begin', expected 'start', 'stop', 'enable' or 'disable'"
        ),
        (#"{"t_ms": 5, "event": 1}"#, "t:2: error: expected 'start', 'stop', 'enable' or 'disable', found '1'"),
        (#"{"t_ms": 5}"#, "t:2: error: the event has no 'event'"),
        (#"{"event": "start"}"#, "t:2: error: the event has no 'time'"),
        (#"{}"#, "t:2: error: the event has no 'time'"),
        (#"{"t_ms": 4, "event": "start"}"#, "t:2: error: 't_ms' is 4, earlier than 5 of the previous event"),
        (#"{"t_ms": 5.5, "event": "start"}"#, "t:2: error: expected a whole number, zero or more, found '5.5'"),
        (#"{"t_ms": 1e3, "event": "start"}"#, "t:2: error: expected a whole number, zero or more, found '1e3'"),
        (#"{"t_ms": -5, "event": "start"}"#, "t:2: error: expected a whole number, zero or more, found '-5'"),
        (#"{"t_ms": 05, "event": "start"}"#, "t:2: error: expected a whole number, zero or more, found '05'"),
        (#"{"t_ms": "5", "event": "start"}"#, "t:2: error: expected a whole number, zero or more, found '\"'"),
        (
            #"{"t_ms": 9007199254740992, "event": "start"}"#,
            "t:2: error: the number is too large; expected at most 9007199254740991"
        ),
        (
            #"{"t_ms": 99999999999999999999, "event": "start"}"#,
            "t:2: error: the number is too large; expected at most 9007199254740991"
        ),
        (#"{"t_ms": 5, "t_ms": 6, "event": "start"}"#, "t:2: error: the time is duplicated"),
        (#"{"t_ms": 5, "event": "start", "event": "stop"}"#, "t:2: error: 'event' is duplicated"),
        (#"{"t_ms": 5, "event": "start", "id": "a", "id": "a"}"#, "t:2: error: 'id' is duplicated"),
        (
            #"{"t_ms": 5, "event": "start", "id": 7}"#,
            "t:2: error: 'id' must be a string, found '7'; leave it out for an anonymous activity"
        ),
        (
            #"{"t_ms": 5, "event": "start", "ID": "a"}"#,
            "t:2: error: unknown key 'ID', expected 'time', 'event' or 'id'"
        ),
        (
            #"{"t_ms": 5, "event": "start", "id": "a}"#,
            "t:2: error: a string must not contain the end of the line"
        ),
        (#"{"t_ms": 5, "event": "start", "id": "\x"}"#, "t:2: error: invalid escape in the string"),
        (#"{"t_ms": 5, "event": "start", "id": "\ud800"}"#, "t:2: error: unpaired surrogate"),
        (#"{'t_ms': 5, 'event': 'start'}"#, "t:2: error: expected a string, found '''"),
        (#"{"time": -1, "event": "stop"}"#, "t:2: error: expected a number of seconds, zero or more"),
        (#"{"time": "1", "event": "stop"}"#, "t:2: error: expected a value, found '\"'"),
        (
            #"{"time": 0.001, "event": "stop"}"#,
            "t:2: error: 'time' is 0.001, earlier than 0.005 of the previous event"
        ),
        (#"{"time": 5, "t_ms": 5, "event": "stop"}"#, "t:2: error: the time is duplicated"),
        (#"[1]"#, "t:2: error: expected '{', found '['"),
        (#"null"#, "t:2: error: expected '{', found 'null'"),
    ]) func `Rejects a line that is not an event`(line: String, message: String) throws {
        let error = #expect(throws: TraceError.self) {
            _ = try read(#"{"t_ms": 5, "event": "start"}"# + "\n" + line + "\n" + #"{"t_ms": 6, "event": "stop"}"#)
        }
        #expect(error.map { "\($0)" } == message)
    }

    @Test func `Rejects bytes that are not UTF-8`() throws {
        let bytes = Array(#"{"t_ms": 5, "event": "start", "id": ""#.utf8) + [0xFF] + Array("\"}\n".utf8)
        let error = #expect(throws: TraceError.self) { _ = try read(bytes) }
        #expect(error.map { "\($0)" } == "t:1: error: not valid UTF-8")
    }

    @Test(arguments: [
        (
            "{\n \"events\": [\n  {\"t_ms\": 0, \"event\": \"start\"},\n  {\"t_ms\": 0, \"event\": \"go\"}\n ]\n}",
            "t:4: error: unknown event 'go', expected 'start', 'stop', 'enable' or 'disable'"
        ),
        ("{\n \"name\": \"x\"\n}\n", "t:4: error: the object has no 'events'"),
        ("{\"events\": [],\n\"events\": []}", "t:2: error: 'events' is duplicated"),
        ("{\"events\": []}\n\nx", "t:3: error: expected the end of the trace, found 'x'"),
        (
            "{\"events\": [],\n\"start_delay_ms\": -1}",
            "t:2: error: expected a whole number, zero or more, found '-1'"
        ),
        (
            "{\n\"t_ms\": 0, \"event\": \"start\"}",
            "t:2: error: unknown key 't_ms', expected one of 'name', 'startDelay', 'completionDelay', "
                + "'minimumVisibleTime', 'events', 'expected'"
        ),
        ("{\"startDelai\": 1, \"events\": []}", "t:1: error: unknown key 'startDelai', did you mean 'startDelay'?"),
        ("{\"events\": [", "t:1: error: expected '{', found the end"),
        ("{\"events\": [], \"expected\": [tru]}", "t:1: error: expected a value, found 'tru'"),
    ]) func `Rejects an object that is not a trace`(text: String, message: String) throws {
        let error = #expect(throws: TraceError.self) { _ = try read(text) }
        #expect(error.map { "\($0)" } == message)
    }

    @Test func `Rejects an endless line`() throws {
        let bytes = [UInt8](repeating: UInt8(ascii: " "), count: TraceReader.longestLine + 10)
        let error = #expect(throws: TraceError.self) { _ = try read(bytes) }
        #expect(error.map { "\($0)" } == "t:1: error: the line is longer than 1048576 bytes")
    }

    @Test func `Reports why a file cannot be read`() {
        let missing = #expect(throws: TraceError.self) { _ = try TraceReader(path: "/does/not/exist") }
        #expect(missing.map { "\($0)" } == "/does/not/exist: error: cannot be opened: No such file or directory")
        let folder = #expect(throws: TraceError.self) {
            var collector = Collector()
            try TraceReader(path: "/tmp").read(into: &collector)
        }
        #expect(folder.map { "\($0)" } == "/tmp: error: cannot be read: Is a directory")
    }
}
