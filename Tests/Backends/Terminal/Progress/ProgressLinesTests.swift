@testable import IndicatorCore
import TestSupport

@testable import TerminalBackends

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
        #expect(
            texts(activities, width: 80) == [
                "debian-13.iso  ━━━━━━━━━━━━━━━━╸────────────────────────  16.2 of 40.0 MB  0:12",
                "Packages.gz    ━━━━─────────────────────────────────────    0.4 of 4.0 MB  0:12",
            ]
        )
        #expect(
            texts(activities, width: 40) == [
                "debian-13.iso  ━━━━━━━╸───────────  40%", "Packages.gz    ━╸─────────────────  10%",
            ]
        )
        #expect(texts(activities, width: 200)[0].count { "━╸─".contains($0) } == 60)
        #expect(texts(activities, width: 20) == ["debian-13.iso  40%", "Packages.gz    10%"])
    }

    @Test func `have the rate and the time left if they are known, and if they fit`() {
        var details = activity("debian-13.iso", 16_200_000, of: 40_000_000)
        details.rate = 1_300_000
        details.remaining = .seconds(18)
        #expect(
            texts([details], width: 100) == [
                "debian-13.iso  ━━━━━━━━━━━━━━━━────────────────────────  16.2 of 40.0 MB  1.3 MB/s  0:12  0:18 left"
            ]
        )
        #expect(
            texts([details], width: 80) == [
                "debian-13.iso  ━━━━━━━━────────────  16.2 of 40.0 MB  1.3 MB/s  0:12  0:18 left"
            ]
        )
        // The rate says more than the elapsed time.
        #expect(
            texts([details], width: 72) == ["debian-13.iso  ━━━━━━━───────────  16.2 of 40.0 MB  1.3 MB/s  0:18 left"]
        )
        #expect(texts([details], width: 60) == ["debian-13.iso  ━━━━━━──────────  16.2 of 40.0 MB  0:18 left"])
        #expect(texts([details], width: 24) == ["debian-13.iso  40%"])
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

private let start = Date(timeIntervalSince1970: 1_000_000)

extension ProgressReport {
    fileprivate mutating func line(
        _ snapshot: IndicatorSnapshot,
        _ finished: [FinishedActivity] = [],
        at seconds: Double
    ) -> String? {
        line(for: snapshot, finished: finished, date: start, at: .seconds(seconds))
    }
}

@Suite("Plain reports of progress")
struct ProgressReportTests {
    private func makeReport(_ settings: TerminalProgressSettings = .init(), _ environment: [String: String] = [:])
        -> ProgressReport
    {
        ProgressReport(settings: settings, look: .init(environment: environment, isTerminal: false))
    }

    private func snapshot(_ labels: [String], age: TimeInterval, progress: Double? = nil) -> IndicatorSnapshot {
        let activities = labels.enumerated().map { index, label in
            var details = ActivityDetails(label: label, progress: progress, since: start.addingTimeInterval(-age))
            details.id = UInt64(index)
            return details
        }
        return IndicatorSnapshot(state: .active, activityCount: labels.count, activities: activities)
    }

    private func finished(_ label: String, _ outcome: ActivityOutcome, _ seconds: Int) -> FinishedActivity {
        FinishedActivity(label: label, outcome: outcome, duration: .seconds(seconds), date: start)
    }

    @Test(arguments: [0, 0.3, 4]) func `announce work that has lasted the start delay, and its end`(seconds: Double) {
        var report = makeReport()
        func line(age: Double, ends: [FinishedActivity] = [], at now: Int) -> String? {
            var busy = snapshot(["a"], age: age)
            busy.startDelay = .seconds(seconds)
            return report.line(busy, ends, at: Double(now))
        }
        if seconds > 0 { #expect(line(age: seconds - 0.1, at: 0) == nil) }
        #expect(line(age: seconds, at: 2) == "a: started\n")
        let ends = [0.1, -0.1].map { difference in
            FinishedActivity(
                label: difference > 0 ? "long" : "short",
                outcome: .succeeded,
                duration: .seconds(seconds + difference),
                date: start
            )
        }
        #expect(line(age: seconds, ends: ends, at: 4)?.hasPrefix("long: done (") == true)
        #expect(line(age: seconds, ends: Array(ends.suffix(1)), at: 6) == nil)
    }

    @Test func `announce work that has lasted a second, and its end; at most one line a second`() {
        var report = makeReport()
        #expect(report.line(snapshot(["a"], age: 0.5), at: 0) == nil)
        #expect(report.line(snapshot(["a"], age: 1), at: 1) == "a: started\n")
        #expect(report.line(snapshot(["a"], age: 1.5), at: 1.5) == nil)
        let ends = [finished("b", .succeeded, 0), finished("c", .failed("no"), 0), finished("d", .succeeded, 70)]
        #expect(report.line(snapshot(["a", "e"], age: 1.9), ends, at: 1.9) == nil)
        #expect(
            report.line(snapshot(["a", "e"], age: 2), at: 2)
                == "c: failed: no (0.0 s); d: done (1:10); e: started\n"
        )
    }

    @Test func `announce an activity once, also if the list has no room for it for a while`() {
        var report = makeReport()
        #expect(report.line(snapshot(["a"], age: 2), at: 0) == "a: started\n")
        #expect(report.line(snapshot([], age: 2), at: 2) == nil)
        #expect(report.line(snapshot(["a"], age: 6), at: 4) == nil)
    }

    @Test func `combine many events, failures first, and count those that are omitted`() {
        var report = makeReport()
        let ends = (1...70).map { finished("a\($0)", .succeeded, 2) } + [finished("z", .failed(""), 2)]
        let line = report.line(snapshot([], age: 0), Array(ends.suffix(64)), at: 0)
        #expect(line?.hasPrefix("z: failed (2.0 s); a8: done (2.0 s); ") == true)
        #expect(line?.hasSuffix("; and 59 more\n") == true)
        #expect(report.takeLine(at: .seconds(9)) == nil)
    }

    @Test func `report the progress at most every ten seconds, or how long the work has lasted`() {
        var report = makeReport()
        var busy = snapshot(["a"], age: 2, progress: 0.4)
        busy.activities[0].remaining = .seconds(20)
        #expect(report.line(busy, at: 0) == "a: started\n")
        #expect(report.line(busy, at: 9) == nil)
        #expect(report.line(busy, at: 10) == "a: 40%, 0:20 left\n")
        #expect(report.line(busy, at: 19) == nil)
        let vague = snapshot(["a"], age: 22)
        #expect(report.line(vague, at: 20) == "a: 0:22\n")
    }

    @Test(arguments: [false, true]) func `do not report an end without an outcome as a success`(accessible: Bool) {
        var report = makeReport(.init(accessible: accessible))
        let line = report.line(snapshot([], age: 0), [finished("a", .unspecified, 2)], at: 0)
        #expect(line == (accessible ? "a ended after 2.0 s.\n" : "a: ended (2.0 s)\n"))
    }

    @Test(arguments: [false, true]) func `tell an error that passes through a group once`(accessible: Bool) {
        var report = makeReport(.init(accessible: accessible))
        var group = finished("Files", .failed("HTTP 503"), 2)
        group.messageAfterMembers = ""
        let line = report.line(snapshot([], age: 0), [group], at: 0)
        #expect(line == (accessible ? "Files failed after 2.0 s.\n" : "Files: failed (2.0 s)\n"))
    }

    /// Each file that began put the total off by ten seconds.
    @Test func `report the total of a group every ten seconds, whatever else is reported`() {
        var report = makeReport()
        var totals: [Int] = []
        for second in 0...40 {
            var busy = snapshot(["Backing up", "a", "b"], age: 2, progress: 0.4)
            for index in 1...2 {
                busy.activities[index].depth = 1
                busy.activities[index].id = UInt64(second * 2 + index)
            }
            let ends = (1...6).map { finished("\($0)", .failed("no"), 2) }
            let line = report.line(busy, ends, at: Double(second)) ?? ""
            if line.hasPrefix("Backing up: 40%, ") { totals.append(second) }
        }
        #expect(totals == [10, 20, 30, 40])
    }

    @Test("have no end with 'finished: none', and no failure before its beginning")
    func ends() {
        var report = makeReport(.init(finished: .none))
        let failed = [finished("a", .failed("no"), 5)]
        #expect(report.line(snapshot(["a"], age: 2), at: 0) == "a: started\n")
        #expect(report.line(snapshot([], age: 2), failed, at: 5) == nil)

        report = makeReport()
        #expect(report.line(snapshot(["x"], age: 2), at: 0) == "x: started\n")
        // Begins and fails before the next line is due.
        var busy = snapshot(["x", "b"], age: 2)
        #expect(report.line(busy, at: 0.5) == nil)
        var end = finished("b", .failed("no"), 2)
        end.id = busy.activities.removeLast().id
        #expect(report.line(busy, [end], at: 1) == "b: failed: no (2.0 s)\n")
    }

    @Test(arguments: [false, true]) func `report once what an activity asks for, with the words`(accessible: Bool) {
        var report = makeReport(.init(accessible: accessible))
        var busy = snapshot(["Signing"], age: 0.1)
        busy.activities[0].attention = "Passphrase?\u{7}"
        let line = accessible ? "Signing asks: Passphrase?\n" : "Signing: asks: Passphrase?\n"
        #expect(report.line(busy, at: 0) == line)
        #expect(report.line(busy, at: 2) == nil)
        busy.activities[0].since = start.addingTimeInterval(-3)
        #expect(report.line(busy, at: 3) == nil)
        busy.activities[0].attention = nil
        #expect(report.line(busy, at: 4) == nil)
        busy.activities[0].attention = "Passphrase?"
        #expect(report.line(busy, at: 6) == line)
    }

    @Test func `have no failure of the first activity before its beginning`() {
        var report = makeReport()
        let early = [finished("early", .failed("no"), 0)]
        let busy = snapshot(["first"], age: 2)
        #expect(report.line(snapshot([], age: 0), early, at: 0) != nil)
        #expect(report.line(busy, at: 0.5) == nil)
        var end = finished("first", .failed("no"), 2)
        end.id = busy.activities[0].id
        #expect(report.line(snapshot([], age: 0), [end], at: 1) == "first: failed: no (2.0 s)\n")
    }

    @Test func `are sentences for a screen reader`() {
        var report = makeReport(.init(accessible: true))
        let busy = snapshot(["Fetching"], age: 2, progress: 0.4)
        #expect(report.line(busy, at: 0) == "Fetching has started.\n")
        #expect(report.line(busy, at: 5) == nil)
        #expect(report.line(busy, at: 10) == "Fetching is 40 percent done.\n")
        let failed = [finished("Fetching", .failed("HTTP 503"), 12)]
        #expect(report.line(IndicatorSnapshot(), failed, at: 11) == "Fetching failed after 12.0 s: HTTP 503.\n")
    }

    @Test func `have a colour only if it is forced`() {
        let failed = [finished("a", .failed(""), 2)]
        var plain = makeReport()
        #expect(plain.line(IndicatorSnapshot(), failed, at: 0)?.contains("\u{1B}") == false)
        var forced = makeReport(.init(), ["CLICOLOR_FORCE": "1"])
        #expect(forced.line(IndicatorSnapshot(), failed, at: 0)?.contains("\u{1B}[0;31m") == true)
    }
}
