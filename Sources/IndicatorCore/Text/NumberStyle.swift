import Foundation

/// How the texts for people write numbers: with the decimal mark of the user's locale. Words, units and the rest are
/// the same in every locale, and what programs read (the log file, JSON, D-Bus, MQTT) does not depend on it.
///
/// The mark comes from the C library's locale, without `setlocale`: the locale of the process belongs to the app. A
/// locale that is not installed is that of POSIX, as for every program.
package struct NumberStyle: Sendable, Hashable {
    /// The mark before the decimal fraction.
    var decimalMark = "."

    /// The style of the process's environment when it is first used.
    package static let current = Self { name in getenv(name).map { String(cString: $0) } }

    /// The style of an environment.
    ///
    /// - Parameter variable: returns the value of an environment variable.
    package init(_ variable: (String) -> String?) {
        // POSIX, section 8.2: the first of these that is set and not empty determines the category.
        let name = ["LC_ALL", "LC_NUMERIC", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
        // These need no files.
        guard name != "", name != "POSIX", name != "C", !name.hasPrefix("C."),
            let locale = newlocale(1 << LC_NUMERIC, name, nil)
        else { return }
        defer { freelocale(locale) }
        // One that is not UTF-8 is that of POSIX.
        let mark = nl_langinfo_l(nl_item(RADIXCHAR), locale).flatMap { String(validatingCString: $0) }
        if let mark, !mark.isEmpty { decimalMark = mark }
    }

    /// A number, rounded to an integer or to tenths.
    package func text(_ value: Double, digits: Int = 0) -> String {
        let rounded = (value * (digits == 1 ? 10 : 1)).rounded()
        let number = Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
        let (whole, tenth) = digits == 1 ? number.magnitude.quotientAndRemainder(dividingBy: 10) : (number.magnitude, 0)
        return (number < 0 ? "-" : "") + "\(whole)" + (digits == 1 ? "\(decimalMark)\(tenth)" : "")
    }
}

/// A progress as a whole number of percent, 0…100.
package struct Percentage: Sendable, Hashable {
    package let value: Int

    /// The percentage of a progress of 0…1, rounded down so that 100 means finished; `nil` if the progress is unknown.
    package init?(_ progress: Double?) {
        guard let progress, !progress.isNaN else { return nil }
        // 0.29 × 100 is 28.999…, which is meant as 29.
        value = Int((min(max(progress, 0), 1) * 100 + 1e-6).rounded(.down))
    }

    /// Such as `40%`.
    package func text() -> String { "\(value)%" }
}

extension Duration {
    /// The number of seconds without needless digits: `1`, `0.2`.
    package var secondsText: String {
        let text = String(Double(wholeNanoseconds / 1000) / 1e6)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
