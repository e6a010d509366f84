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

    /// An activity of 12 s: its label, with two spaces before it for each group that it is in, and after commas what is
    /// done of how many MB, the `rate` in MB/s, the seconds that are `left`, its `age`, what it `asks`, its `detail`,
    /// and whether it `waits`.
    private func activity(_ text: String) -> ActivityDetails {
        let label = text.trimmingPrefix { $0 == " " }
        let parts = label.components(separatedBy: ", ")
        var details = ActivityDetails(label: parts[0], since: now.addingTimeInterval(-12))
        (details.unit, details.depth) = (.bytes, (text.count - label.count) / 2)
        for part in parts.dropFirst() {
            let words = part.split(separator: " ", maxSplits: 1)
            let value = words.count > 1 ? String(words[1]) : ""
            switch words[0] {
            case "rate": details.rate = Double(value)! * 1e6
            case "left": details.remaining = .seconds(Int(value)!)
            case "age": details.since = now.addingTimeInterval(-Double(value)!)
            case "asks": details.attention = value
            case "detail": details.detail = value
            case "waits": details.isWaiting = true
            default:
                let amounts = part.split(separator: "/").map { Int((Double($0)! * 1e6).rounded()) }
                (details.completed, details.total) = (amounts[0], amounts[1])
            }
        }
        return details
    }

    private func texts(
        _ activities: [String],
        width: Int = 80,
        count: Int? = nil,
        height: Int = .max,
        _ layout: ProgressLines? = nil
    ) -> [String] {
        let snapshot = IndicatorSnapshot(
            state: .active,
            activityCount: count ?? activities.count,
            activities: activities.map(activity)
        )
        let lines = (layout ?? self.layout()).lines(for: snapshot, width: width, height: height, now: now, frame: 0)
        return lines.map(\.text)
    }

    /// For a number of columns, the activities after `<` and their lines after `>`.
    private static let fitting: Table = """
        80 columns: a bar, the amount and the time
          < debian-13.iso, 16.2/40 | Packages.gz, 0.4/4
          > debian-13.iso  ━━━━━━━━━━━━━━━━╸────────────────────────  16.2 of 40.0 MB  0:12
          > Packages.gz    ━━━━─────────────────────────────────────    0.4 of 4.0 MB  0:12
        40 columns: the percentage instead of the amount
          < debian-13.iso, 16.2/40 | Packages.gz, 0.4/4
          > debian-13.iso  ━━━━━━━╸───────────  40% | Packages.gz    ━╸─────────────────  10%
        20 columns: no bar
          < debian-13.iso, 16.2/40 | Packages.gz, 0.4/4
          > debian-13.iso  40% | Packages.gz    10%
        200 columns: the longest bar
          < a, 16.2/40
          > a  ━━━━━━━━━━━━━━━━━━━━━━━━────────────────────────────────────  16.2 of 40.0 MB  0:12
        100 columns: the rate and the time left
          < debian-13.iso, 16.2/40, rate 1.3, left 18
          > debian-13.iso  ━━━━━━━━━━━━━━━━────────────────────────  16.2 of 40.0 MB  1.3 MB/s  0:12  0:18 left
        80 columns: a shorter bar
          < debian-13.iso, 16.2/40, rate 1.3, left 18
          > debian-13.iso  ━━━━━━━━────────────  16.2 of 40.0 MB  1.3 MB/s  0:12  0:18 left
        40 columns: groups
          < Uploading |   album |     one.jpg | Other
          > Uploading    ⠋  0:12 |   album      ⠋  0:12 |     one.jpg  ⠋  0:12 | Other        ⠋  0:12
        50 columns: what an activity asks the user for, marked without colour, too
          <   Signing, 1/2, asks Pass\u{7}phrase for the key 'id_ed25519' of alice?
          >   Signing  ━━━━━━━━╸────────  1.0 of 2.0 MB  0:12 |   ! Passphrase for the key 'id_ed25519' of alice?
        24 columns: as much of it as fits
          <   Signing, 1/2, asks Passphrase for the key 'id_ed25519' of alice?
          >   Signing  50% |   ! Passphrase for the…
        40 columns: that of an activity without a line of its own otherwise
          < 1 | 2 | 3 | 4 | 5 | 6, asks PIN?
          > 1  ⠋  0:12 | 2  ⠋  0:12 | 3  ⠋  0:12 | 4  ⠋  0:12 | 6  ⠋  0:12 | ! PIN? | and 1 more
        60 columns: the short text behind the numbers, without control characters
          < iso, 16.2/40, detail 3\u{1B} failed
          > iso  ━━━━━━━━╸────────────  16.2 of 40.0 MB  0:12  3 failed
        36 columns: no short text
          < debian-13.iso, 16.2/40, detail 3 failed
          > debian-13.iso  ━━━━━━─────────  40%
        80 columns: the app, if no activity has a label
          > app  ⠋  0:00
        80 columns: the activities that run before those that wait, which are a count
          < 1, waits | 2, waits | 3 | 4 | 5 | 6 | 7 | 8, waits
          > 3  ⠋  0:12 | 4  ⠋  0:12 | 5  ⠋  0:12 | 6  ⠋  0:12 | and 1 more, 3 waiting
        80 columns: those that wait, too, as long as there is room
          < 1, waits | 2, waits | 3 | 4, waits | 5, waits
          > 1  ⠋  0:12 | 2  ⠋  0:12 | 3  ⠋  0:12 | 4  ⠋  0:12 | and 1 waiting
        80 columns: members below their groups
          < 1 |   2, waits |   3, waits | 4 |   5, waits |   6 |   7
          > 1    ⠋  0:12 |   2  ⠋  0:12 |   3  ⠋  0:12 | 4    ⠋  0:12 |   6  ⠋  0:12 |   7  ⠋  0:12 | and 1 waiting
        30 columns: right-to-left text, isolated from the other fields, also where its end is cut off
          < שלום, 1/2 | שלום שלום שלום שלום, 1/2
          > שלום\u{200E}            ━━━━────  50% | שלום שלום שלו…\u{200E}  ━━━━────  50%
        """

    @Test(arguments: fitting) func `have what fits`(sentence: String, script: String) throws {
        func parts(_ mark: String) -> [String] {
            let lines = script.components(separatedBy: "\n").filter { $0.hasPrefix(mark) }
            return lines.flatMap { $0.dropFirst(2).components(separatedBy: " | ") }
        }
        let width = try #require(Int(sentence.prefix { $0.isNumber }))
        #expect(texts(parts("<"), width: width, count: max(parts("<").count, 1)) == parts(">"), "\(sentence)")
    }

    /// The activities that are listed, perhaps as one group, the count of all, how many may have a line, and the rows
    /// of the window; then how many lines there are, and the last one.
    @Test(
        "have the number of further activities",
        arguments: [
            (6, false, 6, 4, 24, 5, "and 2 more"), (6, false, 500, 4, 24, 5, "and 2 more"),
            (16, false, 1000, 4, 24, 5, "and 996 more"),
            // A group of 20 members is one activity, and the list ends after 15 of them. Its line does not count.
            (16, true, 1, 4, 24, 6, "and 11 more"), (16, true, 3, 4, 24, 6, "and 13 more"),
            (6, false, 6, 6, 24, 6, "6  ⠋  0:12"),
            // In a low window, that line is not the one that is left out.
            (6, false, 6, 4, 3, 3, "and 4 more"), (6, false, 6, 6, 6, 6, "6  ⠋  0:12"),
        ]
    )
    func further(listed: Int, isGroup: Bool, count: Int, maxLines: Int, height: Int, lines: Int, last: String) {
        let activities = (1...listed).map { isGroup && $0 > 1 ? "  \($0)" : "\($0)" }
        let texts = texts(activities, count: count, height: height, layout(maxLines: maxLines))
        #expect(texts.count == lines && texts.last == last)
    }

    @Test func `keep their places when an activity without a progress begins`() {
        let bar = "debian-13.iso, 16.2/40"
        for width in 20...200 {
            let both = texts([bar, "Verifying"], width: width)
            #expect(both[0] == texts([bar], width: width)[0] && both[1].hasPrefix("Verifying"), "width \(width)")
        }
    }

    @Test func `give room to the name first, then to percentage, bar, time left, amount, rate and elapsed time`() {
        let label = "a file with a name that is quite long"
        let fields = ["40%|40.0 MB", "━", "0:18 left", "of 40.0 MB", "1.3 MB/s", "12:34"]
        let counts = (20...200).map { width in
            let line = texts(["\(label), 16.2/40, rate 1.3, left 18, age 754"], width: width)[0]
            let shown = fields.map { $0.split(separator: "|").contains { line.contains($0) } }
            let count = shown.prefix { $0 }.count
            #expect(!shown.dropFirst(count).contains(true), "\(width): \(line)")
            #expect(count <= 2 || line.hasPrefix(label), "\(width): \(line)")
            return count
        }
        #expect(counts == counts.sorted() && counts.first == 1 && counts.last == fields.count)
    }

    @Test(arguments: [
        (ActivityOutcome.failed("HTTP\u{1B}[m 503"), 2.1, 0, 0, ActivityUnit.count, "✗ a b: HTTP[m 503 (2.1 s)"),
        (.succeeded, 65, 0, 0, .count, "✓ a b (1:05)"),
        (.cancelled, 2.1, 0, 0, .count, "- a b: cancelled (2.1 s)"),
        // Not as a success, which nobody has reported.
        (.unspecified, 2.1, 0, 0, .count, "• a b: ended (2.1 s)"),
        (.succeeded, 31, 40_000_000, 0, .bytes, "✓ a b (40.0 MB in 31.0 s, 1.3 MB/s)"),
        // What was done earlier is no part of the rate.
        (.succeeded, 31, 40_000_000, 37_000_000, .bytes, "✓ a b (40.0 MB in 31.0 s, 96.8 kB/s)"),
        (.succeeded, 31, 40_000_000, 40_000_000, .bytes, "✓ a b (40.0 MB in 31.0 s)"),
        (.failed("disk full"), 66, 3, 0, ActivityUnit("files"), "✗ a b: disk full (3 files in 1:06, 22 s each)"),
    ])
    func `The line of an activity that has ended has the outcome, the time, the amount and the rate`(
        outcome: ActivityOutcome,
        seconds: Double,
        completed: Int,
        earlier: Int,
        unit: ActivityUnit,
        line: String
    ) {
        var finished = FinishedActivity(label: "a\nb", outcome: outcome, duration: .seconds(seconds))
        (finished.completed, finished.doneEarlier, finished.unit) = (completed, earlier, unit)
        #expect(layout().line(for: finished) == line)
        // A member has told it.
        finished.messageAfterMembers = ""
        #expect(!outcome.isFailure || layout().line(for: finished).hasPrefix("✗ a b: failed ("))
    }

    @Test func `have the decimal mark and the characters of the locale, and colours if they are enabled`() {
        var german = layout()
        german.look.numbers.decimalMark = ","
        #expect(
            texts(["debian-13.iso, 16.2/40, rate 1.3, left 18"], width: 72, german)[0].hasSuffix(
                "  16,2 of 40,0 MB  1,3 MB/s  0:18 left"
            )
        )
        let end = FinishedActivity(label: "a", outcome: .succeeded, duration: .milliseconds(2_100))
        #expect(german.line(for: end) == "✓ a (2,1 s)")
        let ascii = texts(["Große …, 20/40"], width: 60, layout(["LANG": "C"]))
        #expect(ascii == ["Gro?e ...  ############-------------  20.0 of 40.0 MB  0:12"])
        func color(_ variables: [String: String]) -> Bool {
            TextLook(environment: variables, isTerminal: false).usesColor
        }
        #expect(color(["CLICOLOR_FORCE": "1"]) && !color(["CLICOLOR_FORCE": "0"]))
        #expect(!color(["CLICOLOR_FORCE": "1", "NO_COLOR": "1"]))
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
    private static let reports: Table = """
        Work is announced that has lasted the start delay, and its end
          delay 4 | 0 a:3.9 | 2 a:4 = a: started | 4 a:4 +long:4.1 +short:3.9 = long: done (4.1 s) | 6 a:4 +short:3.9
        Without one, all work is announced
          delay 0 | 0 a:0 = a: started | 2 a:0 +b:0 = b: done (0.0 s)
        There is at most one line a second, with failures first
          0 a:0.5 | 1 a:1 = a: started | 1.5 a:1.5 | 1.9 a:1.9 e:1.9 +b:0 !c:0 +d:70
          2 a:2 e:2 = c: failed: no (0.0 s); d: done (1:10); e: started
        The rest follows when the indicator is hidden
          0 a:2 = a: started | 0.5 hidden +a:2 = a: done (2.0 s)
        An activity that the list has had no room for is announced once
          0 a:2 = a: started | 2 | 4 a:6
        The progress is reported every ten seconds, or how long the work has lasted
          0 a:2,40%,-20 = a: started | 9 a:2,40%,-20 | 10 a:2,40%,-20 = a: 40%, 0:20 left | 19 a:2,40%
          20 a:22 = a: 0:22
        An end without an outcome is no success
          0 .a:2 = a: ended (2.0 s)
        For a screen reader, it is none either
          accessible | 0 .a:2 = a ended after 2.0 s.
        An error that passes through a group is told once
          0 !a:2,told = a: failed (2.0 s)
        For a screen reader, it is told once, too
          accessible | 0 !a:2,told = a failed after 2.0 s.
        With 'finished: none', no end is reported
          none | 0 a:2 = a: started | 5 !a:5
        No failure has a line before its beginning
          0 x:2 = x: started | 0.5 x:2 b:2 | 1 x:2 !b:2 = b: failed: no (2.0 s)
        The first activity's failure has none either
          0 !early:0 = early: failed: no (0.0 s) | 0.5 first:2 | 1 !first:2 = first: failed: no (2.0 s)
        What an activity asks for is reported once, with the words
          0 a:0.1,? = a: asks: Passphrase? | 2 a:0.1,? | 3 a:3,? | 4 a:3 | 6 a:3,? = a: asks: Passphrase?
        For a screen reader, it is a sentence
          accessible | 0 a:0.1,? = a asks: Passphrase? | 2 a:0.1,?
        All lines are sentences for a screen reader
          accessible | 0 a:2,40% = a has started. | 5 a:2,40% | 10 a:2,40% = a is 40 percent done.
          11 hidden !a:12 = a failed after 12.0 s: no.
        A failure has a colour if that is forced
          forced | 0 !a:2 = a: \u{1B}[0;31mfailed\u{1B}[m: no (2.0 s)
        """

    @Test(arguments: reports) func `What happens is reported`(sentence: String, script: String) {
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
