@testable import IndicatorCore
import TestSupport

@testable import IndicatorBackends

@Suite("The lines of progress")
struct ProgressLinesTests {
    private let now = Date(timeIntervalSince1970: 1_000_000)

    private func layout(_ environment: [String: String] = ["LANG": "C.UTF-8", "NO_COLOR": "1"], maxLines: Int = 4)
        -> ProgressLines
    {
        ProgressLines(
            look: .init(environment: environment, isTerminal: true),
            applicationName: "app",
            maxLines: maxLines
        )
    }

    private func activity(_ label: String, _ completed: Int = 0, of total: Int? = nil, age: TimeInterval = 12)
        -> ActivityDetails
    {
        var details = ActivityDetails(label: label, since: now.addingTimeInterval(-age))
        details.total = total
        details.completed = completed
        details.unit = .bytes
        return details
    }

    private func texts(
        _ activities: [ActivityDetails],
        width: Int,
        count: Int? = nil,
        height: Int = .max,
        _ layout: ProgressLines? = nil
    ) -> [String] {
        let snapshot = IndicatorSnapshot(
            state: .active,
            activityCount: count ?? activities.count,
            activities: activities
        )
        return (layout ?? self.layout()).lines(for: snapshot, width: width, height: height, now: now, frame: 0).map(
            \.text
        )
    }

    @Test func `have a bar, the amount and the times, as far as they fit`() {
        let activities = [
            activity("debian-13.iso", 16_200_000, of: 40_000_000), activity("Packages.gz", 400_000, of: 4_000_000),
        ]
        let wide = [
            "debian-13.iso  ━━━━━━━━━━━━━━━━╸────────────────────────  16.2 of 40.0 MB  0:12",
            "Packages.gz    ━━━━─────────────────────────────────────    0.4 of 4.0 MB  0:12",
        ]
        #expect(texts(activities, width: 80) == wide)
        let narrow = ["debian-13.iso  ━━━━━━━╸───────────  40%", "Packages.gz    ━╸─────────────────  10%"]
        #expect(texts(activities, width: 40) == narrow)
        #expect(texts(activities, width: 200)[0].count { "━╸─".contains($0) } == 60)
        #expect(texts(activities, width: 20) == ["debian-13.iso  40%", "Packages.gz    10%"])
    }

    @Test func `have the rate and the time left if they are known, and if they fit`() {
        var details = activity("debian-13.iso", 16_200_000, of: 40_000_000)
        details.rate = 1_300_000
        details.remaining = .seconds(18)
        // The rate says more than the elapsed time.
        for (width, line) in [
            (100, "━━━━━━━━━━━━━━━━────────────────────────  16.2 of 40.0 MB  1.3 MB/s  0:12  0:18 left"),
            (80, "━━━━━━━━────────────  16.2 of 40.0 MB  1.3 MB/s  0:12  0:18 left"),
            (72, "━━━━━━━───────────  16.2 of 40.0 MB  1.3 MB/s  0:18 left"),
            (60, "━━━━━━──────────  16.2 of 40.0 MB  0:18 left"), (24, "40%"),
        ] {
            #expect(texts([details], width: width) == ["debian-13.iso  \(line)"])
        }
    }

    @Test func `are indented by the depth of the groups`() {
        var activities = ["Uploading", "album", "one.jpg", "Other"].map { activity($0) }
        (activities[1].depth, activities[2].depth) = (1, 2)
        #expect(
            texts(activities, width: 40) == [
                "Uploading    ⠋  0:12", "  album      ⠋  0:12", "    one.jpg  ⠋  0:12", "Other        ⠋  0:12",
            ]
        )
    }

    @Test func `keep their places when an activity without a progress begins`() {
        let bar = activity("debian-13.iso", 16_200_000, of: 40_000_000)
        for width in 20...200 {
            let alone = texts([bar], width: width)[0]
            #expect(texts([bar, activity("Verifying")], width: width)[0] == alone, "width \(width)")
            #expect(texts([bar, activity("Verifying")], width: width)[1].hasPrefix("Verifying"))
        }
    }

    @Test func `have a second line with what an activity asks the user for, marked without colour, too`() {
        var details = activity("Signing", 1_000_000, of: 2_000_000)
        details.attention = "Pass\u{7}phrase for the key 'id_ed25519' of alice?"
        details.depth = 1
        #expect(
            texts([details], width: 50) == [
                "  Signing  ━━━━━━━━╸────────  1.0 of 2.0 MB  0:12",
                "  ! Passphrase for the key 'id_ed25519' of alice?",
            ]
        )
        #expect(texts([details], width: 24).last == "  ! Passphrase for the…")
        // Also if it has no line of its own otherwise.
        details.depth = 0
        let many = (1...6).map { activity("number \($0)") } + [details]
        let lines = texts(many, width: 80)
        #expect(lines.count == 7 && lines[4].hasPrefix("Signing  ") && lines[5].hasPrefix("! Passphrase"))
        #expect(lines.last == "and 2 more")
    }

    @Test func `give room to the name first, then to percentage, bar, time left, amount, rate and elapsed time`() {
        var details = activity("a file with a name that is quite long", 16_200_000, of: 40_000_000, age: 754)
        (details.rate, details.remaining) = (1_300_000, .seconds(18))
        let fields = ["40%|40.0 MB", "━", "0:18 left", "of 40.0 MB", "1.3 MB/s", "12:34"]
        var counts: [Int] = []
        for width in 20...200 {
            let line = texts([details], width: width)[0]
            #expect(SafeText.columns(of: line) < width)
            let shown = fields.map { $0.split(separator: "|").contains { line.contains($0) } }
            let count = shown.prefix { $0 }.count
            #expect(!shown.dropFirst(count).contains(true), "\(width): \(line)")
            if count > 2 { #expect(line.hasPrefix(details.label ?? ""), "\(width): \(line)") }
            counts.append(count)
        }
        #expect(counts == counts.sorted() && counts.first == 1 && counts.last == fields.count)
    }

    private static let labels = [
        "Work", "Fetching äöü", "日本語のファイルを取得しています", "👨‍👩‍👧‍👦🇩🇪☎️ family", "שלום עולם", "e\u{301}e\u{301} combining",
        String(repeating: "long ", count: 2000), "\u{1B}[2J\u{7}bad\r\nlabel", "",
    ]

    @Test(arguments: labels) func `are never wider than the window, and have no control characters`(label: String) {
        for environment in [["LANG": "C.UTF-8"], ["LANG": "C"]] {
            for width in 1...120 {
                let snapshot = IndicatorSnapshot(
                    state: .active,
                    activityCount: 9,
                    activities: [activity(label, 1_234_567, of: 40_000_000), activity("two"), activity("three", 5)]
                )
                for line in layout(environment).lines(for: snapshot, width: width, now: now, frame: width) {
                    #expect(line.columns <= max(width - 1, 1))
                    #expect(!line.text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
                }
            }
        }
    }

    @Test func `have the number of further activities`() {
        let activities = (1...6).map { activity("number \($0)") }
        #expect(texts(activities, width: 80).last == "and 2 more")
        #expect(texts(activities, width: 80, count: 500).last == "and 2 more")
        let many = (1...16).map { activity("number \($0)") }
        #expect(texts(many, width: 80, count: 1000).last == "and 996 more")
        // A group of 20 members is one activity, and the list ends after 15 of them. Its line does not count.
        let group = many.enumerated().map { index, activity in
            var activity = activity
            activity.depth = index == 0 ? 0 : 1
            return activity
        }
        #expect(texts(group, width: 80, count: 1).last == "and 11 more")
        #expect(texts(group, width: 80, count: 3).last == "and 13 more")
        #expect(texts(activities, width: 80, layout(maxLines: 6)).count == 6)
        // In a low window, that line is not the one that is left out.
        #expect(texts(activities, width: 80, height: 3).suffix(1) == ["and 4 more"])
        #expect(texts(activities, width: 80, height: 3).count == 3)
        #expect(texts(activities, width: 80, height: 6, layout(maxLines: 6)).count == 6)
    }

    @Test func `The activities that run have lines before those that wait, which are a count`() {
        func activity(_ number: Int, waits: Bool, depth: Int = 0) -> ActivityDetails {
            var activity = ActivityDetails(label: "\(number)", since: now)
            (activity.id, activity.isWaiting, activity.depth) = (UInt64(number), waits, depth)
            return activity
        }
        func labels(_ activities: [ActivityDetails]) -> [String] {
            texts(activities, width: 80).map { $0.split(separator: "  ").first.map { "\($0)" } ?? "" }
        }
        let many = (1...12).map { activity($0, waits: $0 <= 7) }
        #expect(labels(many) == ["8", "9", "10", "11", "and 1 more, 7 waiting"])
        #expect(labels((1...6).map { activity($0, waits: $0 != 3) }) == ["1", "2", "3", "4", "and 2 waiting"])
        // Members are below their groups.
        let groups =
            [activity(1, waits: false)] + (2...4).map { activity($0, waits: true, depth: 1) }
            + [activity(5, waits: false)] + (6...9).map { activity($0, waits: $0 < 7, depth: 1) }
        #expect(
            texts(groups, width: 80).map { $0.prefix(4).trimmingCharacters(in: .whitespaces) }
                == ["1", "2", "5", "7", "8", "9", "and"]
        )
    }

    @Test func `The short text of an activity is behind the numbers, without control characters, as far as it fits`() {
        var details = activity("debian-13.iso", 16_200_000, of: 40_000_000)
        details.detail = "3\u{1B} failed\n"
        #expect(texts([details], width: 80)[0].hasSuffix("16.2 of 40.0 MB  0:12  3 failed"))
        #expect(texts([details], width: 36)[0].hasSuffix("40%"))
    }

    @Test func `A finished bar leaves its total, time and average rate`() {
        var finished = FinishedActivity(label: "iso", outcome: .succeeded, duration: .seconds(31))
        (finished.completed, finished.unit) = (40_000_000, .bytes)
        #expect(layout().line(for: finished) == "✓ iso (40.0 MB in 31.0 s, 1.3 MB/s)")
        // What was done earlier is no part of the rate.
        finished.doneEarlier = 37_000_000
        #expect(layout().line(for: finished) == "✓ iso (40.0 MB in 31.0 s, 96.8 kB/s)")
        finished.doneEarlier = 40_000_000
        #expect(layout().line(for: finished) == "✓ iso (40.0 MB in 31.0 s)")
        finished.doneEarlier = 0
        (finished.completed, finished.unit) = (3, ActivityUnit("files"))
        (finished.outcome, finished.duration) = (.failed("disk full"), .seconds(66))
        #expect(layout().line(for: finished) == "✗ iso: disk full (3 files in 1:06, 22 s each)")
    }

    @Test func `show the app if no activity has a label`() {
        #expect(texts([], width: 80, count: 3).first?.hasPrefix("app  ⠋  ") == true)
    }

    @Test func `have the decimal mark of the locale`() {
        var layout = layout()
        layout.look.numbers.decimalMark = ","
        var details = activity("debian-13.iso", 16_200_000, of: 40_000_000)
        (details.rate, details.remaining) = (1_300_000, .seconds(18))
        #expect(texts([details], width: 72, layout)[0].hasSuffix("  16,2 of 40,0 MB  1,3 MB/s  0:18 left"))
        #expect(texts([details], width: 30, layout)[0].hasSuffix("━━━╸─────  40%"))
        let end = FinishedActivity(label: "a", outcome: .succeeded, duration: .milliseconds(2_100))
        #expect(layout.line(for: end) == "✓ a (2,1 s)")
        layout.look.usesUnicode = false
        #expect(texts([details], width: 30, layout)[0].hasSuffix("###------  40%"))
    }

    @Test func `are ASCII if the locale has no Unicode, and without colours if they are disabled`() throws {
        let ascii = texts([activity("Große …", 50, of: 100)], width: 60, layout(["LANG": "C"]))
        #expect(ascii == ["Gro?e ...  ##############---------------  50 of 100 B  0:12"])
        func color(_ environment: [String: String], isTerminal: Bool) -> Bool {
            TextLook(environment: environment, isTerminal: isTerminal).usesColor
        }
        #expect(color([:], isTerminal: true) && !color([:], isTerminal: false))
        #expect(!color(["NO_COLOR": "1"], isTerminal: true) && color(["NO_COLOR": ""], isTerminal: true))
        #expect(color(["CLICOLOR_FORCE": "1"], isTerminal: false) && !color(["CLICOLOR_FORCE": "0"], isTerminal: false))
        #expect(!color(["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], isTerminal: false))
    }

    @Test("show the outcome of a finished activity")
    func ends() {
        func line(_ outcome: ActivityOutcome, _ duration: Duration = .milliseconds(2_100)) -> String {
            layout().line(for: FinishedActivity(label: "Fetching\nindex", outcome: outcome, duration: duration))
        }
        #expect(line(.failed("HTTP\u{1B}[m 503")) == "✗ Fetching index: HTTP[m 503 (2.1 s)")
        #expect(line(.succeeded, .seconds(65)) == "✓ Fetching index (1:05)")
        #expect(line(.cancelled) == "- Fetching index: cancelled (2.1 s)")
        // Not as a success, which nobody has reported.
        #expect(line(.unspecified) == "• Fetching index: ended (2.1 s)")
        // A member has told it.
        var group = FinishedActivity(label: "Files", outcome: .failed("HTTP 503"), duration: .seconds(2))
        group.messageAfterMembers = ""
        #expect(layout().line(for: group) == "✗ Files: failed (2.0 s)")
    }

    @Test func `isolate right-to-left text from the other fields`() {
        #expect(texts([activity("שלום", 1, of: 2)], width: 80)[0].hasPrefix("שלום\u{200E}  "))
        #expect(!texts([activity("hello", 1, of: 2)], width: 80)[0].unicodeScalars.contains("\u{200E}"))
        // Also where the end of the label is cut off.
        let long = texts([activity(String(repeating: "שלום", count: 20), 1, of: 2)], width: 40)[0]
        #expect(long.contains("…\u{200E}  "))
    }

    @Test func `leave nothing of an earlier label, whatever its direction`() {
        var screen = ScreenEmulator(columns: 40, rows: 4)
        var live = LiveLines()
        let owner = NSObject()
        for label in ["ABCDEFGHIJKL", "שלום", "ABCDEFGHIJKL"] {
            let snapshot = IndicatorSnapshot(state: .active, activityCount: 1, activities: [activity(label)])
            let lines = layout().lines(for: snapshot, width: 40, now: now, frame: 0)
            live.show(ObjectIdentifier(owner), lines, size: .init(columns: 40, rows: 4), anew: false)
            screen.receive(String(decoding: live.render(), as: UTF8.self))
            #expect(screen.lines[1] == "\(label)  ⠋  0:12")
        }
    }
}

@Suite("Plain reports of progress")
struct ProgressReportTests {
    private static let start = Date(timeIntervalSince1970: 1_000_000)

    private func makeReport(_ settings: TerminalProgressSettings = .init(), _ environment: [String: String] = [:])
        -> ProgressReport
    {
        ProgressReport(settings: settings, look: .init(environment: environment, isTerminal: false))
    }

    /// The work in a word of a script: its label, its age, and further values.
    private func activity(_ word: Substring) -> ActivityDetails {
        let parts = word.split(whereSeparator: { ":,".contains($0) })
        let age = Double(parts[1]) ?? 0
        var details = ActivityDetails(label: String(parts[0]), since: Self.start.addingTimeInterval(-age))
        details.id = UInt64(parts[0].unicodeScalars.first!.value)
        for part in parts.dropFirst(2) {
            switch part.last {
            case "?": details.attention = "Passphrase?\u{7}"
            case "%": details.progress = (Double(part.dropLast()) ?? 0) / 100
            default: details.remaining = .seconds(Double(part.dropFirst()) ?? 0)
            }
        }
        return details
    }

    /// The end in a word of a script: the outcome, the label, the duration, and whether a member has said why.
    private func end(_ word: Substring) -> FinishedActivity {
        let outcomes: [Character: ActivityOutcome] = ["+": .succeeded, "!": .failed("no"), ".": .unspecified]
        let details = activity(word.dropFirst())
        let duration = Duration.seconds(Self.start.timeIntervalSince(details.since))
        var finished = FinishedActivity(
            label: details.label ?? "",
            outcome: outcomes[word.first!]!,
            duration: duration,
            date: Self.start
        )
        finished.id = details.id
        if word.hasSuffix(",told") { finished.messageAfterMembers = "" }
        return finished
    }

    /// Updates, each at a time in seconds, and after `=` the line that is written. `a:2` is in progress for 2 s, with
    /// the percentage, what is left, and what it asks for; `+a:2` has succeeded after 2 s, `!a:2` failed, and `.a:2`
    /// ended without an outcome. While the indicator is `hidden`, nothing is in progress.
    @Test(arguments: [
        (
            "Work is announced that has lasted the start delay, and its end",
            """
            delay 4 | 0 a:3.9 | 2 a:4 = a: started | 4 a:4 +long:4.1 +short:3.9 = long: done (4.1 s) | 6 a:4 +short:3.9
            """
        ),
        (
            "A shorter start delay is followed",
            "delay 0.3 | 0 a:0.2 | 2 a:0.3 = a: started | 4 a:0.3 +long:0.4 = long: done (0.4 s) | 6 a:0.3 +short:0.2"
        ),
        ("Without one, all work is announced", "delay 0 | 0 a:0 = a: started | 2 a:0 +b:0 = b: done (0.0 s)"),
        (
            "There is at most one line a second, with failures first",
            """
            0 a:0.5 | 1 a:1 = a: started | 1.5 a:1.5 | 1.9 a:1.9 e:1.9 +b:0 !c:0 +d:70
            2 a:2 e:2 = c: failed: no (0.0 s); d: done (1:10); e: started
            """
        ),
        ("The rest follows when the indicator is hidden", "0 a:2 = a: started | 0.5 hidden +a:2 = a: done (2.0 s)"),
        ("An activity that the list has had no room for is announced once", "0 a:2 = a: started | 2 | 4 a:6"),
        (
            "The progress is reported every ten seconds, or how long the work has lasted",
            """
            0 a:2,40%,-20 = a: started | 9 a:2,40%,-20 | 10 a:2,40%,-20 = a: 40%, 0:20 left | 19 a:2,40%
            20 a:22 = a: 0:22
            """
        ),
        ("An end without an outcome is no success", "0 .a:2 = a: ended (2.0 s)"),
        ("For a screen reader, it is none either", "accessible | 0 .a:2 = a ended after 2.0 s."),
        ("An error that passes through a group is told once", "0 !a:2,told = a: failed (2.0 s)"),
        ("For a screen reader, it is told once, too", "accessible | 0 !a:2,told = a failed after 2.0 s."),
        ("With 'finished: none', no end is reported", "none | 0 a:2 = a: started | 5 !a:5"),
        (
            "No failure has a line before its beginning",
            "0 x:2 = x: started | 0.5 x:2 b:2 | 1 x:2 !b:2 = b: failed: no (2.0 s)"
        ),
        (
            "The first activity's failure has none either",
            "0 !early:0 = early: failed: no (0.0 s) | 0.5 first:2 | 1 !first:2 = first: failed: no (2.0 s)"
        ),
        (
            "What an activity asks for is reported once, with the words",
            "0 a:0.1,? = a: asks: Passphrase? | 2 a:0.1,? | 3 a:3,? | 4 a:3 | 6 a:3,? = a: asks: Passphrase?"
        ),
        ("For a screen reader, it is a sentence", "accessible | 0 a:0.1,? = a asks: Passphrase? | 2 a:0.1,?"),
        (
            "All lines are sentences for a screen reader",
            """
            accessible | 0 a:2,40% = a has started. | 5 a:2,40% | 10 a:2,40% = a is 40 percent done.
            11 hidden !a:12 = a failed after 12.0 s: no.
            """
        ),
        ("A failure has a colour if that is forced", "forced | 0 !a:2 = a: \u{1B}[0;31mfailed\u{1B}[m: no (2.0 s)"),
    ])
    func `What happens is reported`(sentence: String, script: String) {
        var report = makeReport()
        var delay = Duration.seconds(1)
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let sides = step.split(separator: " = ")
            let words = sides[0].split(separator: " ")
            switch words[0] {
            case "delay": delay = .seconds(Double(words[1]) ?? 0)
            case "accessible": report = makeReport(.init(accessible: true))
            case "none": report = makeReport(.init(finished: .none))
            case "forced": report = makeReport(.init(), ["CLICOLOR_FORCE": "1"])
            default:
                var snapshot = IndicatorSnapshot(state: words.contains("hidden") ? .inactive : .active)
                snapshot.startDelay = delay
                snapshot.activities = words.filter { $0.first!.isLetter && $0 != "hidden" }.map(activity)
                let ends = words.dropFirst().filter { "+!.".contains($0.first!) }.map(end)
                let now = Duration.seconds(Double(words[0]) ?? 0)
                let line = report.line(for: snapshot, finished: ends, date: Self.start, at: now)
                let expected = sides.count > 1 ? sides[1].trimmingCharacters(in: .whitespaces) + "\n" : nil
                #expect(line == expected, "\(sentence): \(step)")
            }
        }
    }

    @Test func `Many events are combined, failures first, and those that are omitted are counted`() {
        var report = makeReport()
        let ends = (8...70).map { end("+a\($0):2") } + [end("!z:2")]
        let line = report.line(for: IndicatorSnapshot(), finished: ends, date: Self.start, at: .zero)
        #expect(line?.hasPrefix("z: failed: no (2.0 s); a8: done (2.0 s); ") == true)
        #expect(line?.hasSuffix("; and 59 more\n") == true)
        #expect(report.takeLine(at: .seconds(9)) == nil)
    }

    /// Each file that began put the total off by ten seconds.
    @Test func `The total of a group is reported every ten seconds, whatever else is reported`() {
        var report = makeReport()
        let totals = (0...40).filter { second in
            var group = ["Backup:2,40%", "a:2,40%", "b:2,40%"].map { activity($0) }
            for index in 1...2 { (group[index].depth, group[index].id) = (1, UInt64(second * 2 + index)) }
            let snapshot = IndicatorSnapshot(state: .active, activityCount: 3, activities: group)
            let ends = (1...6).map { end("!\($0):2") }
            let line = report.line(for: snapshot, finished: ends, date: Self.start, at: .seconds(second))
            return line?.hasPrefix("Backup: 40%, ") == true
        }
        #expect(totals == [10, 20, 30, 40])
    }
}
