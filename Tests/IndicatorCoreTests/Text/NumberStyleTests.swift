@testable import IndicatorCore
import TestSupport

@Suite("Numbers in texts")
struct NumberStyleTests {
    private var comma: NumberStyle {
        var style = NumberStyle { _ in nil }
        style.decimalMark = ","
        return style
    }

    @Test func `are those of POSIX in its locales, and in one that is not installed`() {
        let posix = NumberStyle { _ in nil }
        #expect(posix.text(1_234_567.89, digits: 1) == "1234567.9" && Percentage(0.4)?.text() == "40%")
        for name in ["", "C", "POSIX", "C.UTF-8", "xx_XX.UTF-8", "../../etc", "a/b"] {
            #expect(NumberStyle { $0 == "LANG" ? name : nil } == posix, "\(name)")
        }
    }

    @Test func `have the decimal mark of the locale`() {
        #expect(comma.text(1_234_567.89, digits: 1) == "1234567,9" && comma.text(-12_345) == "-12345")
        #expect(comma.text(999) == "999" && comma.text(0.04, digits: 1) == "0,0")
        #expect(comma.text(.infinity) == "9223372036854775807" && comma.text(-1e300).hasPrefix("-9"))
    }

    @Test func `are in the texts of an activity`() {
        var details = ActivityDetails(label: "files")
        (details.unit, details.total, details.completed, details.rate) = (ActivityUnit("files"), 12_000, 3_456, 1_234)
        #expect(details.amountText(in: comma) == "3456 of 12000 files" && details.rateText(in: comma) == "1234 files/s")
        details.unit = .bytes
        #expect(details.amountText(in: comma) == "3,5 of 12,0 kB" && details.rateText(in: comma) == "1,2 kB/s")
    }

    @Test func `Seconds are written without needless digits`() {
        #expect(Duration.seconds(1).secondsText == "1")
        #expect(Duration.milliseconds(200).secondsText == "0.2")
        #expect(Duration.microseconds(1_000_001).secondsText == "1.000001")
        #expect(Duration.milliseconds(-500).secondsText == "-0.5")
    }
}
