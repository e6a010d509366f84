package import Foundation

/// A moment by the wall clock in whole microseconds, written as RFC 3339 in UTC.
///
/// Computed from the count of days instead of with a formatter of Foundation's: those write milliseconds at most, and
/// cost more than the write of the line.
package struct LogTimestamp: Sendable, Hashable, Comparable {
    /// Microseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    package let microseconds: Int64

    /// The microsecond nearest to `date`; one outside the years 0000 to 9999, which RFC 3339 cannot write, becomes the
    /// nearest that it can.
    package init(_ date: Date) {
        // From the reference date of 2001, as `Date` stores it: the sum with the seconds up to then, in floating point,
        // would cost a bit of precision.
        let sinceReference = (date.timeIntervalSinceReferenceDate * 1_000_000).rounded()
        let bounded = sinceReference.isNaN ? 0 : min(max(sinceReference, -1e17), 1e18)
        let sinceEpoch = Int64(bounded) + Int64(Date.timeIntervalBetween1970AndReferenceDate) * 1_000_000
        microseconds = min(max(sinceEpoch, Self.earliest), Self.latest)
    }

    package static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.microseconds < rhs.microseconds
    }

    /// The 27 bytes of `2026-03-01T12:00:00.000000Z`.
    package func append(to line: inout [UInt8]) {
        let (days, time) = microseconds.quotientAndRemainder(flooringBy: 86_400_000_000)
        let (year, month, day) = Self.date(ofDay: days)
        let (seconds, fraction) = time.quotientAndRemainder(dividingBy: 1_000_000)
        Self.append(year, digits: 4, to: &line)
        line.append(UInt8(ascii: "-"))
        Self.append(month, digits: 2, to: &line)
        line.append(UInt8(ascii: "-"))
        Self.append(day, digits: 2, to: &line)
        line.append(UInt8(ascii: "T"))
        Self.append(seconds / 3600, digits: 2, to: &line)
        line.append(UInt8(ascii: ":"))
        Self.append(seconds / 60 % 60, digits: 2, to: &line)
        line.append(UInt8(ascii: ":"))
        Self.append(seconds % 60, digits: 2, to: &line)
        line.append(UInt8(ascii: "."))
        Self.append(fraction, digits: 6, to: &line)
        line.append(UInt8(ascii: "Z"))
    }

    // 0000-01-01T00:00:00Z and the last microsecond of the year 9999.
    private static let earliest: Int64 = -62_167_219_200 * 1_000_000
    private static let latest: Int64 = 253_402_300_800 * 1_000_000 - 1

    /// The proleptic Gregorian date of a day counted from 1970-01-01, after Howard Hinnant's `civil_from_days`: the
    /// year is taken to begin in March, so that the leap day is its last, and an era is the 400 years after which the
    /// calendar repeats.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = (day + 719_468).quotientAndRemainder(flooringBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfMonth)
    }

    private static func append(_ number: Int64, digits: Int, to line: inout [UInt8]) {
        var divisor: Int64 = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            line.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }
}

extension Int64 {
    /// Division that rounds towards minus infinity, so that the remainder is never negative.
    fileprivate func quotientAndRemainder(flooringBy divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
