import IndicatorCore
import Testing

@testable import DisplayText

@Suite("Numbers in texts")
struct NumberStyleTests {
    private func style(_ decimalMark: String, _ separator: String, groups: [Int] = [3]) -> NumberStyle {
        var style = NumberStyle { _ in nil }
        (style.decimalMark, style.separator, style.groups) = (decimalMark, separator, groups)
        return style
    }

    @Test("are those of POSIX in its locales, and in one that is not installed")
    func posix() {
        let posix = NumberStyle { _ in nil }
        #expect(posix.text(1_234_567.89, digits: 1) == "1234567.9" && Percentage(0.4)?.text(in: posix) == "40%")
        for name in ["", "C", "POSIX", "C.UTF-8", "xx_XX.UTF-8", "../../etc", "a/b"] {
            #expect(NumberStyle { $0 == "LANG" ? name : nil } == posix, "\(name)")
        }
    }

    @Test("have the marks of the locale, and its groups of digits")
    func marks() {
        let german = style(",", ".")
        #expect(german.text(1_234_567.89, digits: 1) == "1.234.567,9" && german.text(-12_345) == "-12.345")
        #expect(german.text(999) == "999" && german.text(0.04, digits: 1) == "0,0")
        #expect(style(".", ",", groups: [3, 2]).text(123_456_789) == "12,34,56,789")
        #expect(style(".", ",", groups: [3, 0]).text(123_456_789) == "123456,789")
        #expect(style(".", ",", groups: []).text(123_456) == "123456")
        #expect(german.text(.infinity) == "9.223.372.036.854.775.807" && german.text(-1e300).hasPrefix("-9."))
    }

    @Test("are in the texts of an activity")
    func texts() {
        var details = ActivityDetails(label: "files")
        (details.unit, details.total, details.completed, details.rate) = (ActivityUnit("files"), 12_000, 3_456, 1_234)
        let french = style(",", "\u{202F}")
        #expect(details.amountText(in: french) == "3\u{202F}456 of 12\u{202F}000 files")
        #expect(details.rateText(in: french) == "1\u{202F}234 files/s")
        details.unit = .bytes
        #expect(details.amountText(in: french) == "3,5 of 12,0 kB" && details.rateText(in: french) == "1,2 kB/s")
    }
}
