import Foundation
import Testing

@testable import NetworkKit

@Suite struct HTTPDateTests {
    @Test(
        "The three formats of RFC 9110",
        arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
    )
    func formats(text: String) {
        #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    /// The first one, found by fuzzing, crashed Foundation's `DateFormatter`.
    @Test(
        "Invalid dates are rejected",
        arguments: [
            "Sun, 06\u{6f1}ov 19=14 08:49:37 GMT", "", "0", "-1", "Sun", "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 06 Now 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
        ]
    )
    func others(text: String) { #expect(HTTPDate.parse(text) == nil) }
}
