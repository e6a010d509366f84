import TestSupport

@testable import IndicatorCommands

@Suite struct ReplayTests {
    private func trace(_ text: String) throws -> Trace { try Trace(Data(text.utf8)) }

    private func replay(_ text: String) throws -> Replay { try Replay(Data(text.utf8)) }

    @Test func `A trace of lines is read`() throws {
        let trace = try trace(
            """
            {"t_ms": 0, "event": "start", "id": "a"}

            { "event":"stop" , "t_ms":12 }\r
            {"id":"\\u00e9\\n\\ud83d\\ude00","event":"start","t_ms":12}
            {"t_ms": 12.5, "event": "enable"}
              \t
            {"t_ms":3000000000000,"event":"disable"}
            """
        )
        #expect(trace.delays.isEmpty)
        let events: [(Int, ActivityReplay.Event)] = [
            (0, .start(id: "a")), (12, .stop(id: nil)), (12, .start(id: "é\n😀")), (13, .enable),
            (3_000_000_000_000, .disable),
        ]
        #expect(trace.events == events.map { Trace.Event(time: .milliseconds($0), event: $1) })
    }

    @Test func `An object has delays, and its keys in any order`() throws {
        let inMilliseconds = try trace(
            """
            {"events": [{"t_ms": 1, "event": "start"}, {"t_ms": 2, "event": "stop"}], "name": "x", "start_delay_ms": 0,
             "expected": [{"t_ms": 1, "visible": true, "why": [null, -1.5e3, {}]}], "completion_delay_ms": 7}
            """
        )
        #expect(inMilliseconds.delays == [.startDelay: .zero, .completionDelay: .milliseconds(7)])
        #expect(inMilliseconds.events.count == 2 && inMilliseconds.isInMilliseconds)
        let text = #"{"startDelay": 0.5, "completionDelay": 2, "events": [{"time": 1.8004, "event": "start"}]}"#
        let inSeconds = try trace(text)
        #expect(inSeconds.delays == [.startDelay: .milliseconds(500), .completionDelay: .seconds(2)])
        #expect(inSeconds.events == [Trace.Event(time: .milliseconds(1800), event: .start(id: nil))])
    }

    @Test(arguments: [
        (#"{"t_ms": 5, "event": "start"} x"#, "line 2: expected the end, found 'x'"),
        (#"{"t_ms": 5, "event": "start""#, "line 2: expected ',' or '}', found the end"),
        (#"{'t_ms': 5, 'event': 'start'}"#, "line 2: expected a string, found '''"),
        (#"{"t_ms": 5, "event": "begin"}"#, "line 2: unknown event 'begin', expected 'start', 'stop', 'enable' or "),
        (#"{"t_ms": 5, "event": 1}"#, "line 2: 'event' is not a text"), (#"{"t_ms": 5}"#, "line 2: 'event' is missing"),
        (#"{"t_ms": 5, "event": "start",}"#, "line 2: expected a string, found '}'"),
        (#"{"t_ms": 5, "time": 1, "event": "start"}"#, "line 2: both 'time' and 't_ms' are given"),
        (#"{}"#, "line 2: 'time' is missing"),
        (#"{"t_ms": 4, "event": "start"}"#, "line 2: its time is earlier than that of the event before, 0.005 s"),
        (#"{"time": -1, "event": "stop"}"#, "line 2: the time is -1.0 s; expected one from 0 to 100 years"),
        (#"{"t_ms": 1e300, "event": "stop"}"#, "line 2: the time is 1e+297 s; expected one from 0 to 100 years"),
        (#"{"time": "1", "event": "stop"}"#, "line 2: 'time' is not a number"),
        (#"{"t_ms": 5, "event": "start", "id": 7}"#, "line 2: 'id' is not a text"),
        (#"{"t_ms": 5, "event": "start", "ID": "a"}"#, "line 2: unknown key 'ID', did you mean 'id'?"),
        (#"[1]"#, "line 2: this is not an object"), (#"null"#, "line 2: this is not an object"),
    ]) func `A line that is not an event is a mistake`(line: String, message: String) {
        expect(message, for: #"{"t_ms": 5, "event": "start"}"# + "\n\(line)\n" + #"{"t_ms": 6, "event": "stop"}"#)
    }

    private func expect(_ message: String, for text: String) {
        let error = #expect(throws: TraceError.self) { try replay(text) }
        #expect(error?.description.hasPrefix(message) == true, "\(error as Any)")
    }

    @Test(arguments: [
        (#"{"events": [{"t_ms": 0, "event": "start"}, {"t_ms": 0, "event": "go"}]}"#, "events[1]: unknown event 'go'"),
        (#"{"events": [{"time": 5, "event": "start"}, {"time": 1, "event": "stop"}]}"#, "events[1]: its time is earl"),
        ("{\n \"name\": \"x\"\n}\n", "'events' is missing"),
        ("{\"events\": [],\n\"start_delay_ms\": -1}", "startDelay is -0.001"),
        ("{\n\"colour\": 0}", "unknown key 'colour', expected one of 'name', 'events', "),
        ("{\"startDelai\": 1, \"events\": []}", "unknown key 'startDelai', did you mean 'startDelay'?"),
        (#"{"events": {}}"#, "'events' is not a list"), ("{\"events\": [\n", "line 2: expected a value, found the end"),
        ("{\"events\": [\n tru]}", "line 2: expected a value, found 't'"),
        ("[\n{\"time\": 1, \"event\": \"start\"}]", "this is not an object"),
        ("2026-11-26T14:02:00Z shown\n", "this is a log in text; only logs with 'format: json' can be replayed"),
    ]) func `What is not a trace is a mistake`(text: String, message: String) { expect(message, for: text) }

    @Test func `Bytes that are not UTF-8 are a mistake`() throws {
        let bytes = Data(#"{"t_ms": 5, "event": "start", "id": ""#.utf8) + [0xFF] + Data("\"}\n".utf8)
        let error = #expect(throws: TraceError.self) { try Replay(bytes) }
        #expect(error?.message == "this is not valid UTF-8")
    }

    /// A line of a log, by default of a process that does not run.
    private func line(_ second: Double, _ event: String, _ more: String = "", app: String = "x", pid: Int = 1 << 30)
        -> String
    {
        #"{"time":"2026-11-26T14:02:0\#(second)Z","event":"\#(event)",\#(more)"app":"\#(app)","pid":\#(pid)}"# + "\n"
    }

    private func step(_ milliseconds: Int, _ id: String, _ growth: Int, _ outcome: ActivityOutcome? = nil)
        -> Replay.Step
    {
        Replay.Step(time: .milliseconds(milliseconds), id: id, growth: growth, outcome: outcome)
    }

    @Test func `A log is read with the times at which the indicator was shown`() throws {
        let log = [
            line(0.5, "shown"),
            line(3.0, "finished", #""label":"a","outcome":"succeeded","seconds":3.5,"#),
            // Another process, which is killed, and one that gets its number.
            line(4.0, "shown", pid: 1 << 29), line(4.5, "hidden"),
            line(5.0, "finished", #""label":"b","outcome":"failed","message":"no disk","seconds":5.0,"#, pid: 1 << 29),
            line(7.0, "shown", pid: 1 << 29), line(8.0, "hidden", pid: 1 << 29),
            line(9.0, "finished", #""label":"a","outcome":"succeeded","seconds":1.0,"#),
        ].joined()
        let replay = try replay(log)
        #expect(
            replay.steps == [
                step(0, "a", 1), step(500, "b", 1), step(3500, "a", -1, .succeeded),
                step(5500, "b", -1, .failed("no disk")), step(8500, "a", 1), step(9500, "a", -1, .succeeded),
            ]
        )
        #expect(replay.timeline.rows.map(\.note) == ["done", "failed: no disk"])
        #expect(replay.timeline.rows.map(\.isGood) == [true, false])
        let again = log + line(10, "finished", #""label":"b","outcome":"succeeded","seconds":0.1,"#)
        #expect(try self.replay(again).timeline.rows.map(\.note) == ["done", "1 of 2 failed"])
        let changes: [(Bool, Double)] = [(true, 1), (false, 5.5), (true, 7.5), (false, 8.5)]
        #expect(replay.changes == changes.map { VisibilityChange(isVisible: $0, instant: .seconds($1)) })
        let other = line(9.5, "finished", #""label":"a","outcome":"succeeded","seconds":1,"#, app: "y")
        #expect(try self.replay(log + other).steps.contains(step(9000, "y: a", 1)))
        // A line that is incomplete, and one that is still being written.
        let broken = try self.replay(log + line(9, "finished", #""label":"x","seconds":1e17,"#) + #"{"time":"2026"#)
        #expect(broken.steps == replay.steps)
        #expect(broken.unreadableLines == [9, 10])
        let impossible = try self.replay(line(9, "finished", #""label":"x","seconds":1e17,"#) + log)
        #expect(impossible.unreadableLines == [1])
        #expect(impossible.changes.count == 4)
        // Another program has written the JSON again.
        #expect(try self.replay(log.replacing("\":", with: "\": ")).steps == replay.steps)
    }

    @Test func `The first identities have a row each, and all others one`() throws {
        let lines = (0..<30).map { #"{"time": \#($0), "event": "start", "id": "r\#($0)"}"# + "\n" }
        let timeline = try replay("\u{FEFF}" + lines.joined() + #"{"time": 40, "event": "start"}"#).timeline
        #expect(timeline.rows.map(\.label) == (0..<20).map { "r\($0)" } + ["and 10 more", "(no id)"])
        #expect(timeline.rows.allSatisfy { $0.spans.count == 1 })
    }
}
