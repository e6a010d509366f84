import Foundation
import Testing

@testable import IndicatorBackends

@Suite struct LogTimestampTests {
    private func text(_ date: Date) -> String {
        var line: [UInt8] = []
        LogTimestamp(date).append(to: &line)
        return String(decoding: line, as: UTF8.self)
    }

    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-0.000001, "1969-12-31T23:59:59.999999Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (4_107_456_000, "2100-02-28T00:00:00.000000Z"),
            (1_772_366_400.123456, "2026-03-01T12:00:00.123456Z"),
            (1_772_366_399.9999996, "2026-03-01T12:00:00.000000Z"),
            (-62_167_219_200, "0000-01-01T00:00:00.000000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
        ] as [(Double, String)]
    )
    func isRFC3339InUTCWithSixDigits(seconds: Double, expected: String) {
        #expect(text(Date(timeIntervalSince1970: seconds)) == expected)
    }

    // Not `arguments`: those are described when the test is listed, and the description of an infinite `Date` traps.
    @Test func datesThatCannotBeWrittenStayWithinTheFormat() {
        for seconds in [-1e300, -1e11, 1e12, 1e300, .infinity, -.infinity, .nan] {
            let text = text(Date(timeIntervalSince1970: seconds))
            #expect(text.utf8.count == 27 && text.hasSuffix("Z"), "\(seconds)")
        }
    }
}
