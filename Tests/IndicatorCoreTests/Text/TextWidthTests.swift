import TestSupport

@testable import IndicatorCore

@Suite struct TextWidthTests {
    @Test func `Text is wrapped between words`() {
        #expect(TextWidth.wrapped("", to: 30) == [""])
        #expect(TextWidth.wrapped("one two three four five", to: 20) == ["one two three four", "five"])
        #expect(TextWidth.wrapped("one two three four 5", to: 20).count == 1)
        #expect(TextWidth.wrapped("/a/path/that/is/longer/than/the/line it is", to: 20).count == 2)
    }

    @Test func `Cells are below each other, and a row that is too wide continues on a line of its own`() {
        let rows = [["a", "1", "default"], ["long.name", "one two three four five", "default"]]
        #expect(TextWidth.aligned(rows)[0].count == TextWidth.aligned(rows)[1].count)
        let narrow = ["a          1           default", "long.name  one two three", "  four five  default"]
        #expect(TextWidth.aligned(rows, width: 30) == narrow)
    }
}
