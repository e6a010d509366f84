import CIndicatorCurl
import Foundation

/// Dates and seconds in header fields (RFC 9110 §5.6.7, RFC 9111 §1.2.2).
enum HTTPDate {
    /// Reads a date in one of the three formats: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" and
    /// "Sun Nov  6 08:49:37 1994".
    ///
    /// By libcurl, not by `DateFormatter`, which on Linux crashes on some texts: a server must not be able to cause
    /// that.
    static func parse(_ text: String) -> Date? {
        let seconds = curl_getdate(text, nil)
        return seconds == -1 ? nil : Date(timeIntervalSince1970: Double(seconds))
    }

    /// Reads a number of seconds; one that is too large is 2³¹.
    static func seconds(_ text: String) -> Double? {
        let isNumber = !text.isEmpty && text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        return isNumber ? Double(text).map { min($0, 2_147_483_648) } : nil
    }
}
