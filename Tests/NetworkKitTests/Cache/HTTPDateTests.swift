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

    /// RFC 9110 §5.6.7: a date more than 50 years in the future is in the past.
    @Test(
        arguments: [
            ("Friday, 06-Nov-76 08:49:37 GMT", "Fri, 06 Nov 2076 08:49:37 GMT"),
            ("Friday, 06-Nov-76 08:49:38 GMT", "Sat, 06 Nov 1976 08:49:38 GMT"),
            ("Tuesday, 06-Nov-29 08:49:37 GMT", "Tue, 06 Nov 2029 08:49:37 GMT"),
            ("Sunday, 06-Nov-77 08:49:37 GMT", "Sun, 06 Nov 1977 08:49:37 GMT"),
            ("Saturday, 06-Nov-99 08:49:37 GMT", "Sat, 06 Nov 1999 08:49:37 GMT"),
        ]
    )
    func `A year with two digits is at most 50 years in the future`(text: String, date: String) throws {
        let now = try #require(HTTPDate.parse("Fri, 06 Nov 2026 08:49:37 GMT"))
        #expect(HTTPDate.parse(text, now: now).map(HTTPDate.format) == date)
        // A century later, the same digits are a later year.
        let later = try #require(HTTPDate.parse("Fri, 06 Nov 2126 08:49:37 GMT"))
        let year = try #require(Int(date.dropFirst(12).prefix(4)))
        let expected = date.dropFirst(4).replacing("\(year)", with: "\(year + 100)")
        #expect(HTTPDate.parse(text, now: later).map(HTTPDate.format)?.dropFirst(4) == expected)
    }

    @Test func `A year with four digits is taken literally`() throws {
        let date = try #require(HTTPDate.parse("Sun, 06 Nov 0069 08:49:37 GMT"))
        #expect(date.timeIntervalSince1970 < -59_000_000_000)
    }

    @Test func `The first format is written`() {
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
            "Sun, 06 Nov 994 08:49:37 GMT", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999999999 08:49:37 GMT",
            "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        ]
    )
    func others(text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test func `The text that fuzzing found is rejected`() {
        let bytes: [UInt8] = Array("Sun, 06".utf8) + [0xd6, 0xb1] + Array("ov 19=14 08:49:37 GMT".utf8)
        #expect(HTTPDate.parse(String(decoding: bytes, as: UTF8.self)) == nil)
    }
}
