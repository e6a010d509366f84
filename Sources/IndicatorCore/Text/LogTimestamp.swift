package import Foundation

/// A wall-clock time in whole microseconds, written as RFC 3339 in UTC.
///
/// Formatted with the C library: Foundation's formatters are limited to milliseconds, and cost more than writing the
/// line.
package struct LogTimestamp: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    package let microseconds: Int64

    /// The microsecond nearest to `date`, clamped to the years 0000 to 9999, the range of RFC 3339.
    package init(_ date: Date) {
        // From the reference date of 2001, as `Date` stores it: adding the seconds up to then in floating point would
        // lose precision.
        let sinceReference = (date.timeIntervalSinceReferenceDate * 1_000_000).rounded()
        let bounded = sinceReference.isNaN ? 0 : min(max(sinceReference, -1e17), 1e18)
        let sinceEpoch = Int64(bounded) + Int64(Date.timeIntervalBetween1970AndReferenceDate) * 1_000_000
        microseconds = min(max(sinceEpoch, Self.earliest), Self.latest)
    }

    package static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.microseconds < rhs.microseconds
    }

    /// `2026-03-01T12:00:00.000000Z`.
    package var text: String {
        // Rounds toward minus infinity, so that the fraction is never negative.
        let fraction = (microseconds % 1_000_000 + 1_000_000) % 1_000_000
        var seconds = time_t((microseconds - fraction) / 1_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        let fields: [(number: Int, digits: Int, end: String)] = [
            (Int(parts.tm_year) + 1900, 4, "-"), (Int(parts.tm_mon) + 1, 2, "-"), (Int(parts.tm_mday), 2, "T"),
            (Int(parts.tm_hour), 2, ":"), (Int(parts.tm_min), 2, ":"), (Int(parts.tm_sec), 2, "."),
            (Int(fraction), 6, "Z"),
        ]
        return fields.map { field in
            let digits = String(field.number)
            return String(repeating: "0", count: field.digits - digits.count) + digits + field.end
        }.joined()
    }

    // The first and last microsecond of the years 0000 to 9999.
    private static let earliest: Int64 = -62_167_219_200 * 1_000_000
    private static let latest: Int64 = 253_402_300_800 * 1_000_000 - 1
}
