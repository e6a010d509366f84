@testable import IndicatorCore
import TestSupport

@testable import IndicatorBackends

@Suite("Templates of lines")
struct LineTemplateTests {
    private let now = Date(timeIntervalSince1970: 1_000_000)

    private func lines(
        _ template: String,
        width: Int = 80,
        environment: [String: String] = ["LANG": "C.UTF-8", "NO_COLOR": "1"],
        _ change: (inout [ActivityDetails]) -> Void = { _ in }
    ) throws -> [LiveLine] {
        var file = ActivityDetails(label: "debian.iso", since: now.addingTimeInterval(-12))
        (file.unit, file.total, file.completed) = (.bytes, 40_000_000, 16_200_000)
        (file.rate, file.remaining) = (1_300_000, .seconds(18))
        var activities = [file, ActivityDetails(label: "Verifying", since: now.addingTimeInterval(-3))]
        change(&activities)
        let layout = ProgressLines(
            look: .init(environment: environment, isTerminal: true),
            applicationName: "app",
            maxLines: 4,
            template: try LineTemplate(template)
        )
        let snapshot = IndicatorSnapshot(state: .active, activityCount: 2, activities: activities)
        return layout.lines(for: snapshot, width: width, now: now, frame: 0)
    }

    @Test(arguments: [
        ("{label} {bar:10} {progress}", ["debian.iso ━━━━────── 40%", "Verifying  ⠋"]),
        ("{spinner} {label} [{bar:10}] {rate:>10}", ["  debian.iso [━━━━──────]   1.3 MB/s", "⠋ Verifying"]),
        ("{label:6} {done}/{total} {progress:^7}|", ["debia… 16.2 MB/40.0 MB   40%  |", "Verif…"]),
        ("{elapsed:<6}{label} {remaining} left", ["0:12  debian.iso 0:18 left", "0:03  Verifying"]),
        (
            "ETA {remaining}  at {rate}  {label}",
            ["ETA 0:18  at 1.3 MB/s  debian.iso", "                       Verifying"]
        ),
        ("{{{label}}} {amount}", ["{debian.iso} 16.2 of 40.0 MB", "{Verifying}"]),
        ("{label} - {elapsed}", ["debian.iso - 0:12", "Verifying  - 0:03"]),
        ("{label} | {rate} | {progress}", ["debian.iso | 1.3 MB/s | 40%", "Verifying"]),
        ("working", ["working", "working"]),
        // A column without a value in any line is left out.
        ("{label}  {detail} left  {elapsed}", ["debian.iso  0:12", "Verifying   0:03"]),
    ])
    func `have columns that are aligned in all lines`(template: String, expected: [String]) throws {
        #expect(try lines(template).map(\.text) == expected)
        #expect(try LineTemplate(template).description == template)
    }

    @Test func `have colours and weights, unless they are disabled`() throws {
        let template = "{label:.bold.red} {bar:10.green/black} {rate:12.dim}"
        let text = try lines(template, environment: ["LANG": "C.UTF-8"])[0].changes(from: nil)
        for part in ["\u{1B}[0;1;31mdebian.iso", "\u{1B}[0;32m━━━━", "\u{1B}[0;30m───", "\u{1B}[0;2m1.3 MB/s"] {
            #expect(text.contains(part), "\(text.debugDescription)")
        }
        #expect(try !lines(template)[0].changes(from: nil).contains("m"))
    }

    private static let labels = [
        "Work", "Fetching äöü", "日本語のファイルを取得しています", "👨‍👩‍👧‍👦🇩🇪☎️ family", "שלום עולם", "e\u{301}e\u{301} combining",
        String(repeating: "long ", count: 2000), "\u{1B}[2J\u{7}bad\r\nlabel", "",
    ]
    private static let templates = [
        "{label:500}{bar:500}{rate:400}", "{rate:90}", "[{label}][{bar}]", "\u{1B}[2J\n日本{label:7}語{spinner:3}",
    ]

    @Test(
        arguments: labels.map { (LineTemplate.standard.description, $0) } + templates.map { ($0, "日本語のファイル") },
        [["LANG": "C.UTF-8"], ["LANG": "C"]]
    )
    func `are never wider than the window, and move no cursor`(
        texts: (template: String, label: String),
        environment: [String: String]
    ) throws {
        for width in 1...120 {
            for line in try lines(texts.template, width: width, environment: environment, { $0[0].label = texts.label })
            {
                #expect(line.columns <= max(width - 1, 1))
                #expect(!line.text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F })
            }
        }
    }

    @Test(arguments: [
        (
            "{label} {barr:40}",
            "unknown placeholder '{barr}' at character 9, did you mean '{bar}'? For a brace, write '{{'"
        ),
        ("{bar:40.cyna}", "unknown style 'cyna' at character 9, did you mean 'cyan'?"),
        ("{bar:.cyan/bule}", "unknown style 'bule' at character 12, did you mean 'blue'?"),
        ("{bar:.cyan.}", "unknown style '' at character 12; known are: black, red, "),
        ("{bar:wide}", "'wide' at character 6 is not a width and styles; write '<', '^' or '>', a width"),
        ("a {bar:0}", "'0' at character 8 is not a width and styles"),
        ("{bar:501}", "'501' at character 6 is not"), ("{bar:}", "'' at character 6 is not"),
        ("{rate:5/red}", "'5/red' at character 7 is not"), ("{label", "'{' at character 1 has no '}'"),
        ("", "the format is empty"),
    ])
    func `are checked: names, options and styles, with their positions`(template: String, message: String) throws {
        let error = try #require(throws: SnapshotFormatError.self) { try LineTemplate(template) }
        #expect(error.description.hasPrefix(message), "\(error)")
    }
}
