import Foundation
import Testing

@testable import NetworkKit

@Suite struct HTTPDateTests {
    private let date = Date(timeIntervalSince1970: 784_111_777)

    @Test(
        "The three formats of RFC 9110",
        arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
    )
    func formats(text: String) {
        #expect(HTTPDate.parse(text) == date)
    }

    @Test func theFirstFormatIsWritten() {
        #expect(HTTPDate.format(date) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(.distantFuture) == "Mon, 01 Jan 4001 00:00:00 GMT")
        #expect(HTTPDate.format(Date(timeIntervalSince1970: 1e300)) == "Thu, 01 Jan 1970 00:00:00 GMT")
    }

    /// The first one, found by fuzzing, crashed Foundation's `DateFormatter`.
    @Test(
        "Invalid dates are rejected",
        arguments: [
            "Sun, 06\u{6f1}ov 19=14 08:49:37 GMT", "", "0", "Sun", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Now 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 PST",
            "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999999999 08:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        ]
    )
    func others(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test func theTextThatFuzzingFound() {
        let bytes: [UInt8] = Array("Sun, 06".utf8) + [0xd6, 0xb1] + Array("ov 19=14 08:49:37 GMT".utf8)
        #expect(HTTPDate.parse(String(decoding: bytes, as: UTF8.self)) == nil)
    }
}
