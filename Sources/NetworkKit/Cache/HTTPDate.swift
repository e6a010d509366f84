import Foundation

/// Dates in header fields (RFC 9110 §5.6.7).
///
/// Does not use `DateFormatter`, which on Linux crashes on some texts: a server must not be able to cause that.
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Reads a date in one of the three formats: "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT" and
    /// "Sun Nov  6 08:49:37 1994".
    ///
    /// - Parameter now: the time that decides the century of a year with two digits.
    static func parse(_ text: String, now: Date = Date()) -> Date? {
        let fields = text.split { " ,-".contains($0) }
        guard let weekday = fields.first, days.contains(String(weekday.prefix(3))) else { return nil }
        return switch fields.count {
        case 6 where ["GMT", "UTC"].contains(fields[5]):
            date(year: fields[3], month: fields[2], day: fields[1], time: fields[4], now: now)
        case 5: date(year: fields[4], month: fields[1], day: fields[2], time: fields[3], now: now)
        default: nil
        }
    }

    private static func date(
        year: Substring,
        month: Substring,
        day: Substring,
        time: Substring,
        now: Date
    ) -> Date? {
        let hasCentury = year.utf8.count == 4
        guard hasCentury || year.utf8.count == 2 else { return nil }
        func number(_ text: Substring, in range: ClosedRange<Int32>) -> Int32? {
            guard text.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
            return Int32(text).flatMap { range.contains($0) ? $0 : nil }
        }
        let parts = time.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let month = months.firstIndex(of: String(month)),
            let year = number(year, in: 0...9999), let day = number(day, in: 1...31),
            let hour = number(parts[0], in: 0...23), let minute = number(parts[1], in: 0...59),
            let second = number(parts[2], in: 0...60)
        else { return nil }
        var fields = tm()
        fields.tm_mon = Int32(month)
        fields.tm_mday = day
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (hour, minute, second)
        func date(in year: Int32) -> Date {
            var fields = fields  // which timegm changes
            fields.tm_year = year - 1900
            return Date(timeIntervalSince1970: Double(timegm(&fields)))
        }
        if hasCentury { return date(in: year) }
        // The latest year with these digits that is not more than 50 years in the future.
        var limit = Self.fields(of: now)
        limit.tm_year += 50
        let lastYear = limit.tm_year + 1900
        let latest = lastYear - (lastYear - year) % 100
        let result = date(in: latest)
        return result.timeIntervalSince1970 > Double(timegm(&limit)) ? date(in: latest - 100) : result
    }

    static func format(_ date: Date) -> String {
        let fields = Self.fields(of: date)
        func padded(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map(padded).joined(separator: ":")
        let (day, month) = (days[Int(fields.tm_wday)], months[Int(fields.tm_mon)])
        return "\(day), \(padded(fields.tm_mday)) \(month) \(fields.tm_year + 1900) \(clock) GMT"
    }

    private static func fields(of date: Date) -> tm {
        // A date more than 3,000 years away becomes the epoch: HTTP dates have four-digit years.
        let seconds = date.timeIntervalSince1970
        var time = abs(seconds) < 1e11 ? time_t(seconds.rounded(.down)) : 0
        var fields = tm()
        gmtime_r(&time, &fields)
        return fields
    }
}
