import DisplayText
import Foundation
package import IndicatorCore
import IndicatorThreads

/// Turns the text of a setting, from a file or an environment variable, into its value, strictly.
struct SettingText {
    /// Why a text is not a valid value.
    struct Failure: Error, Hashable {
        var message: String
    }

    /// The source of a text, which decides how a boolean may be spelled and whether quotes matter.
    enum Origin {
        /// A scalar of a file; a quoted one is always a string.
        case file(isQuoted: Bool)
        /// An environment variable, where a boolean may also be `1`, `0`, `yes` or `no`.
        case environment
    }

    var text: String
    var origin: Origin
    /// The environment, for the home folder.
    var environment: [String: String]
    /// Whether messages must not quote it.
    private var isSecret = false

    init(text: String, origin: Origin, environment: [String: String]) {
        self.text = text
        self.origin = origin
        self.environment = environment
    }

    /// The value, checked against the setting's definition.
    func value(for setting: SettingDefinition) throws(Failure) -> BackendSettingValue {
        var copy = self
        copy.isSecret = setting.isSecret
        let value = try copy.typedValue(for: setting.type)
        if let expected = setting.expectation(value) { throw copy.failure(expecting: expected) }
        return value
    }

    private func typedValue(for type: SettingType) throws(Failure) -> BackendSettingValue {
        if text.unicodeScalars.contains("\0") {
            throw Failure(message: Self.nulProblem)
        }
        switch type {
        case .string:
            return .string(text)
        case .strings:
            return .list(text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        case .path:
            return .string(try path())
        case .choice(let choices):
            return .string(try choice(among: choices))
        case .choices(let choices):
            return .list(try words(among: choices))
        case .names:
            return .list(try words(among: nil))
        case .boolean:
            return .boolean(try boolean())
        case .integer(let range):
            return .integer(try integer(in: range))
        case .seconds:
            return .duration(try duration())
        case .size:
            return .integer(try size())
        }
    }

    /// The elements of a list that are not valid, and why; they are not split. For a list that is too short, 0.
    static func problems(in texts: [String], of setting: SettingDefinition) -> [(index: Int, failure: Failure)] {
        var problems: [(index: Int, failure: Failure)] = []
        for (index, text) in texts.enumerated() {
            let element = SettingText(text: text, origin: .file(isQuoted: true), environment: [:])
            do throws(Failure) {
                if text.unicodeScalars.contains("\0") { throw Failure(message: nulProblem) }
                if case .choices(let choices) = setting.type { _ = try element.choice(among: choices) }
            } catch {
                problems.append((index, error))
            }
        }
        guard problems.isEmpty, setting.expectation(.list(texts)) != nil else { return problems }
        // The element with which it becomes invalid.
        for count in 0...texts.count {
            guard let expected = setting.expectation(.list(Array(texts.prefix(count)))), count > 0 || texts.isEmpty
            else { continue }
            let found = count > 0 ? BackendSettingValue.string(texts[count - 1]).configurationText : "none"
            let shown = setting.isSecret ? "a hidden value" : QuotedText.shortened(found)
            return [(max(count - 1, 0), Failure(message: "expected \(expected), found \(shown)"))]
        }
        return []
    }

    private static let nulProblem = "the text contains a NUL character (U+0000); remove it"

    private func choice(among choices: [String]) throws(Failure) -> String {
        if choices.contains(text) { return text }
        let suggestion = NearestName.find(for: text, among: choices).map { ", did you mean '\($0)'?" } ?? ""
        throw failure(expecting: Self.list(choices), suggestion: suggestion)
    }

    /// The words of a comma-separated list, the form in an environment variable.
    private func words(among choices: [String]?) throws(Failure) -> [String] {
        var words: [String] = []
        for part in text.split(separator: ",", omittingEmptySubsequences: text.isEmpty) {
            var word = self
            word.text = part.trimmingCharacters(in: .whitespaces)
            guard !word.text.isEmpty else { throw failure(expecting: "names with a comma between two of them") }
            if let choices { word.text = try word.choice(among: choices) }
            words.append(word.text)
        }
        return try Self.distinct(words)
    }

    /// The words; throws if one is duplicated.
    fileprivate static func distinct(_ words: [String]) throws(Failure) -> [String] {
        var seen: Set<String> = []
        for word in words where !seen.insert(word).inserted {
            throw Failure(message: "'\(QuotedText.shortened(word))' is duplicated")
        }
        return words
    }

    private func path() throws(Failure) -> String {
        let expected = "the path of a file"
        guard !text.isEmpty else { throw failure(expecting: expected) }
        if case .file(isQuoted: false) = origin, Self.isDecimal(text) || ["true", "false"].contains(text.lowercased()) {
            throw failure(expecting: expected, suggestion: "; put it in quotes if the file has that name")
        }
        if text.hasPrefix("~"), text != "~", !text.hasPrefix("~/") {
            throw Failure(message: "expected a path, found \(found); only '~/', your own home folder, is supported")
        }
        return HomeFolder.expanding(text, in: environment)
    }

    private func boolean() throws(Failure) -> Bool {
        try requireUnquoted(expecting: "true or false")
        switch (text.lowercased(), origin) {
        case ("true", _), ("yes", .environment), ("1", .environment): return true
        case ("false", _), ("no", .environment), ("0", .environment): return false
        case ("yes", _), ("on", _), ("y", _):
            throw failure(expecting: "true or false", suggestion: ", did you mean 'true'?")
        case ("no", _), ("off", _), ("n", _):
            throw failure(expecting: "true or false", suggestion: ", did you mean 'false'?")
        default: throw failure(expecting: "true or false")
        }
    }

    fileprivate static func expectation(of range: ClosedRange<Int>) -> String {
        range.upperBound == .max
            ? "a whole number, \(range.lowerBound) or more"
            : "a whole number from \(range.lowerBound) to \(range.upperBound)"
    }

    private func integer(in range: ClosedRange<Int>) throws(Failure) -> Int {
        let expected = Self.expectation(of: range)
        try requireUnquoted(expecting: expected)
        let digits = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
        guard Self.isDigits(digits), let value = Int(text), range.contains(value) else {
            throw failure(expecting: expected)
        }
        return value
    }

    private func duration() throws(Failure) -> Duration {
        let expected = "a number of seconds, zero or more"
        try requireUnquoted(expecting: expected)
        guard Self.isDecimal(text), let seconds = Double(text) else {
            let hasUnit = text.first.map { $0.isNumber } ?? false && text.last.map { $0.isLetter } ?? false
            throw failure(
                expecting: expected,
                suggestion: hasUnit ? "; write 0.5 for half a second, without a unit" : ""
            )
        }
        guard seconds >= 0 else { throw failure(expecting: expected) }
        do {
            // All durations follow the rules of the delays: the same rounding and upper limit.
            return try IndicatorDelays.duration(ofSeconds: seconds, for: .startDelay)
        } catch {
            throw failure(expecting: "at most 100 years (\(Self.longestSeconds) seconds)")
        }
    }

    private func size() throws(Failure) -> Int {
        let expected = "a number of bytes such as 1048576, 512 kB or 1 MiB"
        let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text[number.endIndex...].trimmingCharacters(in: .whitespaces)
        guard Self.isDecimal(String(number)), let count = Double(number), let factor = Self.sizeUnits[unit.lowercased()]
        else { throw failure(expecting: expected) }
        let bytes = count * factor
        guard bytes < 0x1p62, bytes == bytes.rounded() else { throw failure(expecting: expected) }
        return Int(bytes)
    }

    private func requireUnquoted(expecting expected: String) throws(Failure) {
        guard case .file(isQuoted: true) = origin else { return }
        let text = QuotedText.shortened(text)
        throw Failure(message: "expected \(expected), found the string \"\(text)\"; remove the quotes")
    }

    private func failure(expecting expected: String, suggestion: String = "") -> Failure {
        var hint = suggestion
        if case .file = origin {
            if text.contains(" //") { hint = "; a comment begins with '#', not with '//'" }
            if text.hasSuffix(",") { hint = "; remove the comma at the end" }
        }
        return Failure(message: "expected \(expected), found \(found)\(hint)")
    }

    private var found: String {
        if text.isEmpty { return "an empty string" }
        if isSecret { return "a hidden value" }
        // Hides the user name and password of a URL.
        guard let end = text.lastIndex(of: "@"), text[..<end].contains(":") else {
            return "'\(QuotedText.shortened(text))'"
        }
        return "'…\(QuotedText.shortened(String(text[end...])))'"
    }

    private static let longestSeconds = "3155760000"

    private static let sizeUnits: [String: Double] = [
        "": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
        "kib": 0x1p10, "mib": 0x1p20, "gib": 0x1p30, "tib": 0x1p40,
    ]

    private static func isDigits(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Whether a text is a decimal number: `1`, `-0.5`, `.5`, `1e3`; not `0x10`, `.nan`, `inf`.
    ///
    /// Without a regular expression: an app's first one costs 0.9 MiB and half a millisecond.
    private static func isDecimal(_ text: String) -> Bool {
        let characters = Set("0123456789+-.eE".utf8)
        return text.utf8.count <= 400 && text.utf8.allSatisfy(characters.contains) && Double(text) != nil
    }

    private static func list(_ choices: [String]) -> String {
        guard choices.count > 1, let last = choices.last else { return choices.first.map { "'\($0)'" } ?? "nothing" }
        return choices.dropLast().map { "'\($0)'" }.joined(separator: ", ") + " or '\(last)'"
    }
}

extension SettingDefinition {
    /// Checks a value set in code as strictly as one given as text.
    func checked(
        _ value: BackendSettingValue,
        environment: [String: String]
    ) throws(SettingText.Failure) -> BackendSettingValue {
        let checked: BackendSettingValue
        switch (type, value) {
        case (.string, .string(let text)), (.path, .string(let text)), (.choice, .string(let text)):
            let text = SettingText(text: text, origin: .file(isQuoted: true), environment: environment)
            return try text.value(for: self)
        case (.strings, .list(let texts)), (.choices, .list(let texts)):
            if let problem = SettingText.problems(in: texts, of: self).first { throw problem.failure }
            return type == .strings ? value : .list(try SettingText.distinct(texts))
        case (.names, .list(let names)): return .list(try SettingText.distinct(names))
        case (.integer(let range), .integer(let number)):
            guard range.contains(number) else {
                throw SettingText.Failure(message: "expected \(SettingText.expectation(of: range)), found '\(number)'")
            }
            checked = value
        case (.boolean, .boolean), (.size, .integer(0...)): checked = value
        case (.seconds, .integer(let seconds)) where (0...IndicatorDelays.longestSeconds).contains(Double(seconds)):
            checked = .duration(.seconds(seconds))
        case (.seconds, .duration(let duration))
        where (0...IndicatorDelays.longestSeconds).contains(duration / .seconds(1)):
            checked = value
        default:
            throw SettingText.Failure(message: "expected \(type.expectation), found \(value.configurationText)")
        }
        if let expected = expectation(checked) {
            throw SettingText.Failure(message: "expected \(expected), found \(value.configurationText)")
        }
        return checked
    }
}

extension Duration {
    /// The number of seconds without trailing zeros: `1`, `0.2`.
    package var secondsText: String {
        let (seconds, microseconds) = (wholeNanoseconds / 1000).quotientAndRemainder(dividingBy: 1_000_000)
        guard microseconds != 0 else { return String(seconds) }
        var fraction = String(microseconds.magnitude)
        fraction = String(repeating: "0", count: 6 - fraction.count) + fraction
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return "\(self < .zero && seconds == 0 ? "-" : "")\(seconds).\(fraction)"
    }
}

extension IndicatorDelays {
    /// Turns a number of seconds into a delay, rounded to the nearest microsecond.
    ///
    /// - Throws: ``InvalidDelayError`` that names `setting`, when the number is negative, infinite, not a number, or
    ///   more than 100 years.
    package static func duration(ofSeconds seconds: Double, for setting: Setting) throws(InvalidDelayError) -> Duration
    {
        guard seconds.isFinite, seconds >= 0, seconds <= longestSeconds else {
            throw InvalidDelayError(setting: setting, value: "\(seconds) s")
        }
        return .microseconds(Int64((seconds * 1e6).rounded()))
    }
}

/// The user's home folder, and the expansion of `~`.
package enum HomeFolder {
    /// The folder in the variable `HOME`, else that in the user database; `nil` if neither is an absolute path.
    package static func path(in environment: [String: String]) -> String? {
        if let home = environment["HOME"], home.hasPrefix("/") { return home }
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        guard getpwuid_r(geteuid(), &entry, &buffer, buffer.count, &result) == 0, result != nil,
            let folder = entry.pw_dir
        else { return nil }
        let home = String(cString: folder)
        return home.hasPrefix("/") ? home : nil
    }

    /// The path with a leading `~` replaced; unchanged if the home folder is unknown.
    package static func expanding(_ path: String, in environment: [String: String]) -> String {
        guard path == "~" || path.hasPrefix("~/"), let home = Self.path(in: environment) else { return path }
        return home + path.dropFirst(1)
    }
}

/// A file that contains a secret.
package enum SecretFile {
    /// What to report about a file that every user of the machine can read; `nil` if they cannot.
    package static func warning(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IROTH != 0 else { return nil }
        return "the file '\(QuotedText.shortened(path))' has a secret, and every user can read it (chmod o-r)"
    }
}
