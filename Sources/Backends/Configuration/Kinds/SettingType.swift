import DisplayText
import Foundation
package import IndicatorCore
import IndicatorThreads

/// The values that a setting accepts, as far as files and variables differ by them.
package enum SettingType: Sendable, Hashable {
    case string
    /// A string, or a list of strings.
    case strings
    case path
    case boolean
    case integer(ClosedRange<Int>)
    case seconds
    case size
    case choice([String])
    /// A list of some of these words, each at most once.
    case choices([String])
    /// A list of names, each at most once.
    case names

    /// What messages and the reference call a value of this type.
    var expectation: String {
        switch self {
        case .string: "a string"
        case .strings: "a string or a list of strings"
        case .path: "the path of a file"
        case .boolean: "true or false"
        case .integer(let range) where range.upperBound == .max: "a whole number, \(range.lowerBound) or more"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .seconds: "a number of seconds, zero or more"
        case .size: "a number of bytes such as 1 MiB"
        case .choice(let choices): "one of \(choices.joined(separator: ", "))"
        case .choices(let choices): "a list of some of \(choices.joined(separator: ", "))"
        case .names: "a list of names"
        }
    }

    var isText: Bool { [.string, .strings, .path].contains(self) }

    var isList: Bool {
        switch self {
        case .strings, .choices, .names: true
        default: false
        }
    }

    /// The words of a choice.
    fileprivate var choices: [String]? {
        switch self {
        case .choice(let choices), .choices(let choices): choices
        default: nil
        }
    }

    /// The value of a text that is not a list; `nil` if it has none.
    fileprivate func value(of text: String, in environment: [String: String]) -> BackendSettingValue? {
        switch self {
        case .string: return .string(text)
        case .path:
            let isOfOtherUser = text.hasPrefix("~") && text != "~" && !text.hasPrefix("~/")
            return text.isEmpty || isOfOtherUser ? nil : .string(HomeFolder.expanding(text, in: environment))
        case .choice(let choices): return choices.contains(text) ? .string(text) : nil
        case .boolean:
            // The booleans of YAML 1.1, and what variables often have.
            switch text.lowercased() {
            case "true", "yes", "on", "1": return .boolean(true)
            case "false", "no", "off", "0": return .boolean(false)
            default: return nil
            }
        case .integer(let range): return Int(text).flatMap { range.contains($0) ? .integer($0) : nil }
        case .seconds:
            guard let seconds = Self.number(text), seconds >= 0 else { return nil }
            // The limit and the rounding of the delays.
            let limited = min(seconds, IndicatorDelays.longestSeconds)
            return (try? IndicatorDelays.duration(ofSeconds: limited, for: .startDelay)).map { .duration($0) }
        case .size:
            let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            let unit = text[number.endIndex...].trimmingCharacters(in: .whitespaces).lowercased()
            guard let bytes = Self.number(number).flatMap({ count in Self.sizeUnits[unit].map { count * $0 } }),
                bytes < 0x1p62, bytes == bytes.rounded()
            else { return nil }
            return .integer(Int(bytes))
        case .strings, .choices, .names: return nil
        }
    }

    private static let sizeUnits: [String: Double] = [
        "": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
        "kib": 0x1p10, "mib": 0x1p20, "gib": 0x1p30, "tib": 0x1p40,
    ]

    /// A decimal number: `1`, `-0.5`, `.5`, `1e3`; not `0x10`, `.nan`, `inf`.
    ///
    /// Without a regular expression: an app's first one costs 0.9 MiB and half a millisecond.
    private static func number(_ text: some StringProtocol) -> Double? {
        text.utf8.allSatisfy(Set("0123456789+-.eE".utf8).contains) ? Double(text) : nil
    }
}

/// Why a value is not valid, for a message.
struct SettingFault: Error, Hashable, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}

extension SettingDefinition {
    /// The value that a text in a file or in a variable has. A list is written with commas there.
    func value(of text: String, in environment: [String: String]) throws(SettingFault) -> BackendSettingValue {
        if type.isList {
            let parts = text.split(separator: ",", omittingEmptySubsequences: type == .strings || text.isEmpty)
            return try value(.list(parts.map { $0.trimmingCharacters(in: .whitespaces) }), in: environment)
        }
        if let fault = fault(of: text) { throw fault }
        guard let value = type.value(of: text, in: environment) else { throw unexpected(text) }
        if let expected = expectation(value) { throw unexpected(text, expected) }
        return value
    }

    /// The value that one in code has, or a list in a file.
    func value(
        _ value: BackendSettingValue,
        in environment: [String: String]
    ) throws(SettingFault) -> BackendSettingValue {
        var result = value
        switch (type, value) {
        case (.string, .string(let text)), (.path, .string(let text)), (.choice, .string(let text)):
            return try self.value(of: text, in: environment)
        case (_, .list(let texts)) where type.isList:
            if let fault = faults(in: texts).first { throw fault.fault }
        case (.integer(let range), .integer(let number)) where range.contains(number): break
        case (.boolean, .boolean), (.size, .integer(0...)): break
        case (.seconds, .integer(let seconds)) where (0...IndicatorDelays.longestSeconds).contains(Double(seconds)):
            result = .duration(.seconds(seconds))
        case (.seconds, .duration(let time)) where (0...IndicatorDelays.longestSeconds).contains(time / .seconds(1)):
            break
        default: throw unexpected(value.configurationText)
        }
        if let expected = expectation(result) { throw unexpected(value.configurationText, expected) }
        return result
    }

    /// The elements of a list that are not valid, and why.
    func faults(in texts: [String]) -> [(index: Int, fault: SettingFault)] {
        var seen: Set<String> = []
        return texts.enumerated().compactMap { index, text in
            if let fault = fault(of: text) { return (index, fault) }
            guard type != .strings else { return nil }
            if text.isEmpty { return (index, SettingFault("expected a name, found an empty string")) }
            if seen.insert(text).inserted { return nil }
            return (index, SettingFault("'\(QuotedText.shortened(text))' is duplicated"))
        }
    }

    /// Why a text, or an element of a list, is not valid.
    private func fault(of text: String) -> SettingFault? {
        if text.unicodeScalars.contains("\0") {
            return SettingFault("the text contains a NUL character (U+0000); remove it")
        }
        guard let choices = type.choices, !choices.contains(text) else { return nil }
        let suggestion = NearestName.find(for: text, among: choices).map { ", did you mean '\($0)'?" } ?? ""
        return unexpected(text, "one of \(choices.joined(separator: ", "))", suggestion)
    }

    private func unexpected(_ text: String, _ expected: String? = nil, _ suggestion: String = "") -> SettingFault {
        var found = text.isEmpty ? "an empty string" : isSecret ? "a hidden value" : "'\(QuotedText.shortened(text))'"
        // The user name and password of a URL.
        if !isSecret, let end = text.lastIndex(of: "@"), text[..<end].contains(":") {
            found = "'…\(QuotedText.shortened(String(text[end...])))'"
        }
        return SettingFault("expected \(expected ?? type.expectation), found \(found)\(suggestion)")
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
