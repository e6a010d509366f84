import Foundation

/// How the texts for people write numbers: the decimal mark and the thousands separator of the user's locale, its
/// percent sign and the symbols of its byte units. Words are English in every locale, and what programs read (the log
/// file, JSON, D-Bus, MQTT) does not depend on it.
///
/// The marks come from the C library's locale, without `setlocale`: the locale of the process belongs to the app. What
/// the C library does not have is a table of the languages that differ, from the Unicode CLDR; ICU would need
/// megabytes. A locale that is not installed is that of POSIX, as for every program: `.` and no thousands separator.
package struct NumberStyle: Sendable, Hashable {
    /// The mark before the decimal fraction.
    var decimalMark = "."
    /// The mark between groups of digits; empty for none.
    package var separator = ""
    /// The sizes of the groups from the right; the last one is repeated. 0 ends the grouping.
    package var groups: [Int] = []
    /// The texts around the number of a percentage.
    var percentBefore = ""
    var percentAfter = "%"
    /// The symbols of the units, from one byte to exabytes.
    var byteUnits = Self.units("B")

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
        func text(_ item: nl_item) -> String? {
            // What is not UTF-8 is a space of Latin-1.
            nl_langinfo_l(item, locale).map { String(validatingCString: $0) ?? "\u{A0}" }
        }
        if let mark = text(nl_item(RADIXCHAR)), !mark.isEmpty { decimalMark = mark }
        separator = text(nl_item(THOUSEP)) ?? ""
        if let sizes = nl_langinfo_l(nl_item(__GROUPING), locale) {
            groups = String(cString: sizes).utf8.map { $0 < 127 ? Int($0) : 0 }
        }
        let region = String(name.prefix { $0.isLetter || $0 == "_" })
        let language = String(region.prefix { $0 != "_" })
        if let pattern = Self.percents[region] ?? Self.percents[language] {
            let parts = pattern.split(separator: "0", omittingEmptySubsequences: false)
            (percentBefore, percentAfter) = (String(parts[0]), String(parts[1]))
        }
        byteUnits = Self.languageUnits[language] ?? byteUnits
    }

    /// Uses the units of POSIX, which are ASCII.
    package mutating func useUnitsOfPOSIX() { byteUnits = Self.units("B") }

    private static func units(_ byte: String, prefixes: String = "kMGTPE") -> [String] {
        [byte] + prefixes.map { "\($0)\(byte)" }
    }

    /// Where percentages are not written as `0%` (CLDR 44). Digits are those of ASCII in every language.
    private static let percents: [String: String] = {
        let spaced =
            "be br ca cs da de es_ES fi fo fr gl hr hsb lb lt mk nb nds nn no oc ro ru se sk sl sv tk tt"
        var percents = ["tr": "%0", "ku": "%0", "eu": "%\u{A0}0", "de_CH": "0%", "de_LI": "0%", "fr_CH": "0%"]
        for language in spaced.split(separator: " ") { percents[String(language)] = "0\u{A0}%" }
        return percents
    }()

    /// Where a byte is not `B` (CLDR 44): octet, tavu, байт.
    private static let languageUnits: [String: [String]] = {
        var languageUnits = ["fr": units("o"), "br": units("o"), "fi": units("t")]
        for language in ["be", "kk", "ky", "mn", "ru", "uk"] {
            languageUnits[language] = units("Б", prefixes: "кМГТПЭ")
        }
        return languageUnits
    }()
}

extension NumberStyle {
    /// A number, rounded to an integer or to tenths.
    package func text(_ value: Double, digits: Int = 0) -> String {
        let rounded = (value * (digits == 1 ? 10 : 1)).rounded()
        let number = Int64(exactly: rounded) ?? (rounded < 0 ? .min : .max)
        let sign = number < 0 ? "-" : ""
        let (whole, tenth) = digits == 1 ? number.magnitude.quotientAndRemainder(dividingBy: 10) : (number.magnitude, 0)
        return "\(sign)\(grouped("\(whole)"))" + (digits == 1 ? "\(decimalMark)\(tenth)" : "")
    }

    /// Digits with the separators of groups.
    private func grouped(_ digits: String) -> String {
        guard !separator.isEmpty else { return digits }
        var groups = groups[...]
        var size = groups.popFirst() ?? 0
        var (rest, result) = (digits[...], "")
        while size > 0, rest.count > size {
            result = separator + rest.suffix(size) + result
            rest = rest.dropLast(size)
            size = groups.popFirst() ?? size
        }
        return rest + result
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

    /// Such as `40%`, or `40 %` in German.
    package func text(in style: NumberStyle = .current) -> String {
        style.percentBefore + "\(value)" + style.percentAfter
    }
}
