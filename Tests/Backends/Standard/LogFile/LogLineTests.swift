@testable import IndicatorCore
import TestSupport

@testable import IndicatorBackends

@Suite struct LogLineTests {
    private func line(
        _ snapshot: IndicatorSnapshot,
        _ event: LogFileBackend.Event = .label,
        format: LogFileBackend.Format = .json,
        app: String = "my-app"
    ) -> [UInt8] {
        LogLineFormatter(format: format, applicationName: app)
            .line(event, at: LogTimestamp(snapshot.since), of: snapshot, processID: 4242)
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private func finished(_ outcome: ActivityOutcome, _ duration: Duration, format: LogFileBackend.Format) -> [UInt8] {
        let activity = FinishedActivity(label: "GET /", outcome: outcome, duration: duration)
        return LogLineFormatter(format: format, applicationName: "my-app")
            .line(
                .finished,
                at: LogTimestamp(IndicatorSnapshot.noon(1)),
                of: .shown("x"),
                finished: activity,
                processID: 4242
            )
    }

    private func lost(format: LogFileBackend.Format) -> [UInt8] {
        let (first, last) = (LogTimestamp(IndicatorSnapshot.noon(1)), LogTimestamp(IndicatorSnapshot.noon(2)))
        return LogLineFormatter(format: format, applicationName: "my-app")
            .line(lost: 7, since: first, until: last, processID: 4242)
    }

    @Test func `Lines are exactly these`() {
        let shown = IndicatorSnapshot.shown("GET \"/\"\n", at: 0.25, count: 2, progress: 0.4)
        let failure = ActivityOutcome.failed("HTTP 503")
        let lines = [
            line(shown, .shown),
            line(.hidden(at: 61), .hidden),
            finished(failure, .milliseconds(1250), format: .json),
            finished(.cancelled, .seconds(1) / 3, format: .json),
            lost(format: .json),
            line(shown, .shown, format: .text),
            line(.hidden(at: 61), .hidden, format: .text, app: "my app"),
            finished(failure, .milliseconds(1250), format: .text),
            lost(format: .text),
        ]
        let expected = #"""
            {"time":"2026-03-01T12:00:00.250000Z","event":"shown","state":"active","visible":true,"count":2,\#
            "label":"GET \"/\"","progress":0.4,"app":"my-app","pid":4242}
            {"time":"2026-03-01T12:01:01.000000Z","event":"hidden","state":"inactive","visible":false,"count":0,\#
            "app":"my-app","pid":4242}
            {"time":"2026-03-01T12:00:01.000000Z","event":"finished","label":"GET /","outcome":"failed",\#
            "seconds":1.25,"message":"HTTP 503","app":"my-app","pid":4242}
            {"time":"2026-03-01T12:00:01.000000Z","event":"finished","label":"GET /","outcome":"cancelled",\#
            "seconds":0.3333,"app":"my-app","pid":4242}
            {"time":"2026-03-01T12:00:02.000000Z","event":"lost","count":7,"since":"2026-03-01T12:00:01.000000Z",\#
            "app":"my-app","pid":4242}
            2026-03-01T12:00:00.250000Z my-app[4242] shown state=active visible=true count=2 progress=0.4 \#
            label="GET \"/\""
            2026-03-01T12:01:01.000000Z "my app"[4242] hidden state=inactive visible=false count=0
            2026-03-01T12:00:01.000000Z my-app[4242] finished outcome=failed seconds=1.25 message="HTTP 503" \#
            label="GET /"
            2026-03-01T12:00:02.000000Z my-app[4242] lost count=7 since=2026-03-01T12:00:01.000000Z

            """#
        #expect(lines.map(text).joined() == expected)
    }

    @Test(arguments: [(1.0 / 3, "0.3333"), (1, "1.0"), (0.00004, "0.0"), (0.0001, "0.0001"), (2.0 / 3, "0.6667")])
    func `Progress has at most four digits`(progress: Double, written: String) {
        #expect(text(line(.shown("a", progress: progress))).contains(#""progress":\#(written),"#))
    }

    @Test func `Every scalar is decoded from JSON as displayed, and none breaks the line`() throws {
        for first in stride(from: UInt32(0), to: 0x11000, by: 64) {
            let scalars = (first..<first + 64).compactMap(Unicode.Scalar.init)
            // Separated, so that none combines with the one before.
            let label = "|" + scalars.map { "\($0)|" }.joined()
            let bytes = line(.shown(label))
            #expect(bytes.dropLast().allSatisfy { $0 >= 0x20 && $0 != 0x7F })
            let decoded = try JSONDecoder().decode(LogLine.self, from: Data(bytes)).label
            #expect(
                decoded?.unicodeScalars.elementsEqual(SafeText.singleLine(label, limit: 320).unicodeScalars)
                    == true,
                "from U+\(String(first, radix: 16))"
            )
        }
    }

    @Test func `A quote with a combining mark does not end the text`() throws {
        let label = "a\"\u{301}b\\\u{301}c"
        #expect(try JSONDecoder().decode(LogLine.self, from: Data(line(.shown(label)))).label == label)
    }

    @Test(arguments: LogFileBackend.Format.allCases)
    func `Invisible characters are removed from every text`(format: LogFileBackend.Format) {
        let hidden = "a\u{200F}b\u{61C}c\u{200B}d\u{AD}e\u{E0068}\u{1B}\n f"
        let failed = FinishedActivity(label: hidden, outcome: .failed(hidden), duration: .seconds(1))
        let lines = [
            LogLineFormatter(format: format, applicationName: hidden).line(
                .finished,
                at: LogTimestamp(IndicatorSnapshot.noon(1)),
                of: .shown("x"),
                finished: failed
            ),
            line(.shown(hidden), format: format, app: hidden),
        ].map(text)
        #expect(lines.allSatisfy { $0.unicodeScalars.dropLast().allSatisfy(\.isASCII) })
        #expect(lines.map { $0.components(separatedBy: #""abcde f""#).count - 1 } == [3, 2])
    }

    @Test(arguments: ["x", "é", "👩‍👩‍👧‍👦", "\""])
    func `A long label is cut between characters, and the line fits into one write`(character: String) throws {
        let app = String(repeating: "\"", count: 1000)
        let bytes = line(.shown(String(repeating: character, count: 10_000), count: .max, progress: 1 / 3), app: app)
        #expect(bytes.count <= 4096)
        let decoded = try JSONDecoder().decode(LogLine.self, from: Data(bytes))
        let label = try #require(decoded.label)
        #expect(label.last == "…")
        #expect(label.dropLast().allSatisfy { String($0) == character })
    }
}

@Suite struct LogTimestampTests {
    private func text(_ date: Date) -> String { LogTimestamp(date).text }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"), (-0.000001, "1969-12-31T23:59:59.999999Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"), (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (4_107_456_000, "2100-02-28T00:00:00.000000Z"), (1_772_366_400.123456, "2026-03-01T12:00:00.123456Z"),
            (1_772_366_399.9999996, "2026-03-01T12:00:00.000000Z"), (-62_167_219_200, "0000-01-01T00:00:00.000000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
        ] as [(Double, String)]
    )
    func `A time is RFC 3339 in UTC with six digits`(seconds: Double, expected: String) {
        #expect(text(Date(timeIntervalSince1970: seconds)) == expected)
    }

    // Not `arguments`: those are described when the test is listed, and the description of an infinite `Date` traps.
    @Test func `Dates that cannot be written stay within the format`() {
        for seconds in [-1e300, -1e11, 1e12, 1e300, .infinity, -.infinity, .nan] {
            let text = text(Date(timeIntervalSince1970: seconds))
            #expect(text.utf8.count == 27 && text.hasSuffix("Z"), "\(seconds)")
        }
    }
}
