package import DisplayText
import Foundation

/// A setting of a kind of backend, for a property of the type that has the kind's settings: its name, how its value is
/// written, and the property that gets the value. The property's own value is the default.
///
/// ```swift
/// struct LEDSettings {
///     var path = ""
///     var blinks = false
/// }
///
/// let settings: [Setting<LEDSettings>] = [
///     Setting("path", \.path, .path, summary: "the LED's brightness file", isRequired: true),
///     Setting("blinks", \.blinks, .boolean, summary: "whether the LED blinks"),
/// ]
/// ```
public struct Setting<Settings: Sendable>: Sendable {
    /// A property of the settings.
    public typealias Property<Value> = any WritableKeyPath<Settings, Value> & Sendable

    /// Without the default.
    private var definition: SettingDefinition
    /// The value of the property, as it is written.
    let written: @Sendable (Settings) -> BackendSettingValue?

    /// The name in the config file.
    var name: String { definition.name }

    /// Makes a setting.
    ///
    /// - Parameters:
    ///   - name: the name in the config file, in camel case.
    ///   - property: the property that gets the value.
    ///   - form: how the value is written.
    ///   - example: a value for the reference of all settings; by default the property's default.
    ///   - summary: what it does, in a few words.
    ///   - isRequired: whether a section without it is an error. The property's default is then never used.
    ///   - isSecret: whether messages and tables must not show the value, such as a password.
    ///   - validate: checks what the form cannot express. Returns what was expected, as a noun with an article such as
    ///     `an even number`, or `nil` if the value is valid. The message is then `indicator.yaml:3:9: error: 'length':
    ///     expected an even number, found '3'`.
    public init<Value: Sendable>(
        _ name: String,
        _ property: Property<Value>,
        _ form: SettingForm<Value>,
        example: Value? = nil,
        summary: String,
        isRequired: Bool = false,
        isSecret: Bool = false,
        validate: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        definition = SettingDefinition(
            name: name,
            shape: form.shape,
            expectation: form.expectation,
            summary: summary,
            example: example.flatMap(form.write),
            isRequired: isRequired,
            isSecret: isSecret
        ) { given in
            guard let value = try form.read(given) else { return nil }
            if let expected = validate(value) { throw SettingFault(expected) }
            let change = Change<Settings> { $0[keyPath: property] = value }
            return SettingValue(written: form.write(value) ?? given, change: change)
        }
        written = { form.write($0[keyPath: property]) }
    }

    /// Makes a setting that may be without a value: then the property is `nil`, and the kind decides.
    public init<Value: Sendable>(
        _ name: String,
        _ property: Property<Value?>,
        _ form: SettingForm<Value>,
        example: Value? = nil,
        summary: String,
        isSecret: Bool = false,
        validate: @escaping @Sendable (Value) -> String? = { _ in nil }
    ) {
        self.init(
            name,
            property,
            SettingForm(
                form.shape,
                form.expectation,
                read: { try form.read($0).map(Optional.some) },
                write: { $0.flatMap(form.write) }
            ),
            example: example,
            summary: summary,
            isSecret: isSecret,
            validate: { $0.flatMap(validate) }
        )
    }

    private init(_ definition: SettingDefinition, written: @escaping @Sendable (Settings) -> BackendSettingValue?) {
        (self.definition, self.written) = (definition, written)
    }

    /// The same setting of a part of other settings.
    package func within<Outer>(_ part: Setting<Outer>.Property<Settings>) -> Setting<Outer> {
        var outer = definition
        outer.read = { [read = definition.read] in
            guard let value = try read($0), let change = value.change as? Change<Settings> else { return nil }
            return SettingValue(written: value.written, change: Change<Outer> { change.apply(&$0[keyPath: part]) })
        }
        return Setting<Outer>(outer) { [written] in written($0[keyPath: part]) }
    }

    /// The same setting with a meaning that matters to who reads it.
    package func with(_ meaning: SettingMeaning) -> Self {
        var copy = self
        copy.definition.meaning = meaning
        return copy
    }

    /// The setting, whatever the type of the settings.
    func definition(defaults: Settings) -> SettingDefinition {
        var definition = definition
        if !definition.isRequired { definition.defaultValue = written(defaults) }
        return definition
    }
}

extension Setting {
    /// The setting for the outcomes to report.
    package static func whenDone(_ property: Property<WhenDone>) -> Self {
        let summary = "which activities are reported when they end; cancelled ones never are"
        return Self("whenDone", property, .choice, summary: summary)
    }

    /// The setting for how long an activity must have lasted.
    package static func after(_ property: Property<Duration>) -> Self {
        Self("after", property, .seconds, summary: "how long an activity must have lasted for that")
    }
}

/// The value of a setting, in the type of its property.
package struct SettingValue: Sendable, Equatable {
    /// How it is written.
    package let written: BackendSettingValue
    /// A ``Change`` of the settings; none for a default.
    fileprivate let change: any Sendable

    fileprivate init(written: BackendSettingValue, change: any Sendable) {
        (self.written, self.change) = (written, change)
    }

    /// A default, which the settings have anyway.
    init(default written: BackendSettingValue) { self.init(written: written, change: ()) }

    /// Sets the property.
    func apply<Settings>(to settings: inout Settings) { (change as? Change<Settings>)?.apply(&settings) }

    package static func == (first: Self, second: Self) -> Bool { first.written == second.written }
}

private struct Change<Settings>: Sendable {
    let apply: @Sendable (inout Settings) -> Void
}

/// A setting without the type of its kind's settings.
package struct SettingDefinition: Sendable {
    package let name: String
    let shape: SettingShape
    /// What messages and the reference call a value.
    package let expectation: String
    package let summary: String
    /// The value if none is given; `nil` if the kind determines it at run time.
    package internal(set) var defaultValue: BackendSettingValue?
    /// A value for the reference of all settings.
    package var example: BackendSettingValue?
    /// Whether a section without it is an error.
    package var isRequired = false
    /// Whether messages and tables must not show the value.
    var isSecret = false
    var meaning: SettingMeaning?
    /// Returns `nil` for a value of another form; throws what was expected.
    fileprivate var read: @Sendable (BackendSettingValue) throws -> SettingValue?

    /// The value of what a file, a variable or code has, and what is wrong with it. A text for a list has commas
    /// between its elements. Of names and words, those that are right are the value.
    package func value(
        _ written: BackendSettingValue,
        in environment: [String: String]
    ) -> (value: SettingValue?, faults: [SettingFault]) {
        var given = written
        if shape.isList, let text = given.text {
            let parts = text.split(separator: ",", omittingEmptySubsequences: shape == .texts || text.isEmpty)
            given = .list(parts.map { $0.trimmingCharacters(in: .whitespaces) })
        }
        if shape == .path, let path = given.text { given = .string(HomeFolder.expanding(path, in: environment)) }
        let texts = given.list ?? [given.text].compactMap(\.self)
        var seen: Set<String> = []
        var faults = texts.enumerated().compactMap { fault(in: $1, at: $0, after: &seen) }
        if !faults.isEmpty {
            let wrong = Set(faults.map(\.index))
            let others = texts.indices.filter { !wrong.contains($0) }.map { texts[$0] }
            guard shape.isList, shape != .texts, !others.isEmpty else { return (nil, faults) }
            given = .list(others)
        }
        var expected: String?
        do {
            if let value = try read(given) { return (value, faults) }
        } catch { expected = "\(error)" }
        faults.append(SettingFault(unexpected(written.text ?? written.configurationText, expected)))
        return (nil, faults)
    }

    /// What is not valid in a text, or in an element of a list, whatever the meaning of the value.
    private func fault(in text: String, at index: Int, after seen: inout Set<String>) -> SettingFault? {
        if text.unicodeScalars.contains("\0") {
            return SettingFault("the text contains a NUL character (U+0000); remove it", index)
        }
        if let choices = shape.choices, !choices.contains(text) {
            let suggestion = NearestName.find(for: text, among: choices).map { ", did you mean '\($0)'?" } ?? ""
            return SettingFault(unexpected(text, "one of \(choices.joined(separator: ", "))") + suggestion, index)
        }
        guard shape.isList, shape != .texts else { return nil }
        if text.isEmpty { return SettingFault("expected a name, found an empty string", index) }
        guard !seen.insert(text).inserted else { return nil }
        return SettingFault("'\(QuotedText.shortened(text))' is duplicated", index)
    }

    private func unexpected(_ text: String, _ expected: String?) -> String {
        var found = text.isEmpty ? "an empty string" : isSecret ? "a hidden value" : "'\(QuotedText.shortened(text))'"
        // The user name and password of a URL.
        if !isSecret, let end = text.lastIndex(of: "@"), text[..<end].contains(":") {
            found = "'…\(QuotedText.shortened(String(text[end...])))'"
        }
        return "expected \(expected ?? expectation), found \(found)"
    }
}

package enum SettingMeaning: Sendable {
    /// The path of a file with a secret, which others should not be able to read.
    case secretFile
    /// An address to which the default is no alternative: if it is wrong, the backend is not used.
    case address
}

/// Why a value is not valid, for a message; from a ``SettingForm``, what was expected, such as `a format with known
/// placeholders`.
package struct SettingFault: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// Which element of a list it is about.
    let index: Int?

    package init(_ description: String, _ index: Int? = nil) { (self.description, self.index) = (description, index) }
}
