import Testing

@testable import DisplayText

@Suite struct TextWidthTests {
    @Test func `Text is wrapped between words`() {
        #expect(TextWidth.wrapped("", to: 30) == [""])
        #expect(TextWidth.wrapped("one two three four five", to: 20) == ["one two three four", "five"])
        #expect(TextWidth.wrapped("one two three four 5", to: 20).count == 1)
        #expect(TextWidth.wrapped("/a/path/that/is/longer/than/the/line it is", to: 20).count == 2)
    }
}
