@testable import IndicatorCore
import TestSupport

@Suite struct SnapshotFormatTests {
    private func text(
        _ format: String,
        label: String? = nil,
        count: Int = 1,
        progress: Double? = nil,
        spinner: String = "*"
    ) throws -> String {
        try SnapshotFormat(format).text(
            for: IndicatorSnapshot(state: .active, activityCount: count, label: label, progress: progress),
            applicationName: "app",
            spinner: spinner
        )
    }

    @Test func `The request for attention follows the label`() throws {
        var details = ActivityDetails(label: "Signing")
        details.attention = "Pass\u{1B}phrase?"
        let snapshot = IndicatorSnapshot(state: .active, activityCount: 1, activities: [details])
        #expect(
            try SnapshotFormat("{label} - {app}").text(for: snapshot, applicationName: "app")
                == "Signing: Passphrase? - app"
        )
    }

    @Test(
        arguments: [
            ("{app}|{label}|{count}|{progress}|{spinner}", "Work", 3, 0.4, "app|Work|3|40%|*"),
            // The count is shown when it is more than one, and progress when it is a number.
            ("{app} ({count})", nil, 0, nil, "app"), ("{app} ({count})", nil, 1, nil, "app"),
            ("{app} ({count})", nil, 2, nil, "app (2)"),
            ("{spinner} {label} ({count}) - {app}", nil, 0, nil, "* - app"), ("a {progress}", nil, 1, .nan, "a"),
            // Doubled braces are braces, and a value is never taken for a separator.
            ("{{label}} {{{label}}}", "Work", 1, nil, "{label} {Work}"), ("{{{label}}} a", "Work", 1, nil, "{Work} a"),
            ("{label}{progress} {app}", "a -", 1, nil, "a -app"), ("{app} {label}{progress}", "(-", 1, nil, "app (-"),
            ("{label}", "a\u{1B}]0;b\u{07}\nc", 1, nil, "a]0;b c"),
        ] as [(String, String?, Int, Double?, String)]
    )
    func `Every placeholder has its value`(
        format: String,
        label: String?,
        count: Int,
        progress: Double?,
        expected: String
    ) throws {
        #expect(try text(format, label: label, count: count, progress: progress) == expected)
        #expect(try SnapshotFormat(format).description == format)
    }

    @Test(arguments: [
        (0, "0%"), (0.29, "29%"), (0.999, "99%"), (1, "100%"), (1.5, "100%"), (-1, "0%"), (.infinity, "100%"),
    ])
    func `Progress is in percent`(progress: Double, expected: String) throws {
        #expect(try text("{progress}", label: "Work", progress: progress) == expected)
    }

    @Test(arguments: [
        ("{spinner} {label} ({count}) - {app}", "* - app"),
        ("{spinner} {label} {progress} ({count}) - {app}", "* - app"), ("{label} - {app}", "app"),
        ("{app}: {label}", "app"), ("{app} - {label} - {progress}", "app"),
        ("{app} [{progress}] {spinner}", "app *"), ("{app} {label} - {spinner}", "app - *"),
        ("{app}: {label} - {spinner}", "app: *"), ("{app} ({progress})", "app"), ("({label}) {app}", "app"),
        ("{app} {label}: done", "app done"), ("{label}{app} x", "app x"), ("{app}{label} - ", "app"), ("{label}", ""),
        ("Busy {label}!", "Busy !"),
    ])
    func `An empty value leaves no gap`(format: String, expected: String) throws {
        #expect(try text(format) == expected)
        #expect(try text(format, label: " \n ") == expected)
    }

    @Test(
        arguments: [
            (0, nil, "0:00"), (65, nil, "1:05"), (3599.9, nil, "59:59"), (3600, nil, "1:00:00"), (1e9, nil, "99:59:59"),
            (-5, nil, "0:00"), (30, .milliseconds(90_900), "0:30 1:30"), (30, .zero, "0:30 0:00"),
            (30, .seconds(3600), "0:30 1:00:00"),
        ] as [(TimeInterval, Duration?, String)]
    )
    func `Time is in minutes and seconds`(elapsed: TimeInterval, remaining: Duration?, expected: String) throws {
        let format = try SnapshotFormat("{elapsed} {remaining}")
        #expect(format.showsTime)
        var snapshot = IndicatorSnapshot(state: .active, label: "x", since: Date(timeIntervalSince1970: 0))
        snapshot.activities[0].remaining = remaining
        let now = Date(timeIntervalSince1970: elapsed)
        #expect(format.text(for: snapshot, applicationName: "app", now: now) == expected)
        #expect(format.text(for: IndicatorSnapshot(since: now), applicationName: "app", now: now) == "")
    }

    @Test(
        arguments: [
            (0, nil, .bytes, nil, ""), (0, 999, .bytes, nil, "0 of 999 B|0 B|999 B|"),
            (1_000, nil, .bytes, nil, "1.0 kB|1.0 kB||"), (1_500, nil, .bytes, nil, "1.5 kB|1.5 kB||"),
            (12_345_678, 40_000_000, .bytes, 3_149_999, "12.3 of 40.0 MB|12.3 MB|40.0 MB|3.1 MB/s"),
            (3, 12, .count, 0.25, "3 of 12|3|12|4.0 s each"), (3, 12, .count, 1 / 60, "3 of 12|3|12|1:00 each"),
            (3, nil, ActivityUnit("files"), 25, "3 files|3 files||25 files/s"),
            (.max, .max, .bytes, 1e300, "9.2 of 9.2 EB|9.2 EB|9.2 EB|"),
            (.min, 10, ActivityUnit("a\u{1B}b"), nil, "\(Int.min) of 10 ab|\(Int.min) ab|10 ab|"),
        ] as [(Int, Int?, ActivityUnit, Double?, String)]
    )
    func `Amounts have their units`(done: Int, total: Int?, unit: ActivityUnit, rate: Double?, expected: String) throws
    {
        var details = ActivityDetails(label: "x")
        (details.completed, details.total, details.unit, details.rate) = (done, total, unit, rate)
        let texts = [details.amountText(), details.doneText(), details.totalText(), details.rateText()].map { $0 ?? "" }
        if rate == 1e300 {
            #expect(texts[3].hasSuffix(" EB/s"))
        } else {
            #expect(texts.joined(separator: "|") == (expected.isEmpty ? "|||" : expected))
        }
        var snapshot = IndicatorSnapshot(state: .active)
        snapshot.activities = [details]
        let format = try SnapshotFormat("{done}/{total}")
        #expect(!format.showsTime)
        #expect(format.text(for: snapshot, applicationName: "app").hasPrefix(texts[1]))
    }

    @Test func `A long label leaves room for the rest`() throws {
        let text = try text("{label} ({count}) - {app}", label: String(repeating: "x", count: 10_000), count: 2)
        #expect(text == String(repeating: "x", count: 119) + "… (2) - app")
    }

    @Test(arguments: [
        ("", "the format is empty; write a text, such as '{label} - {app}'"),
        ("{lable} x", "unknown placeholder '{lable}' at character 1, did you mean '{label}'? For a brace, write '{{'"),
        ("ä {Count}", "unknown placeholder '{Count}' at character 3, did you mean '{count}'? For a brace, write '{{'"),
        (
            "{}",
            """
            unknown placeholder '{}' at character 1; known are {app} {label} {count} {progress} {spinner} {elapsed} \
            {remaining} {done} {total} {rate}; write '{{' and '}}' for literal braces
            """
        ),
        ("a {label", "'{' at character 3 has no '}'; write '{{' for a literal brace"),
        ("a } b", "'}' at character 3 has no '{'; write '}}' for a literal brace"),
    ])
    func `A mistake is explained`(format: String, text: String) throws {
        let error = #expect(throws: SnapshotFormatError.self) { try SnapshotFormat(format) }
        #expect(error?.description == text)
    }
}
