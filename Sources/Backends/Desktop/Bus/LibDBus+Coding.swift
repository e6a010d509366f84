import BackendConfiguration
import IndicatorCore
import CIndicatorDBus
import Foundation

/// Encodes values in messages.
enum BusCoding {
    static func append(_ value: BusValue, to iterator: inout CDBusMessageIter) {
        func basic(_ number: some BitwiseCopyable) {
            var number = number
            _ = dbus.message_iter_append_basic(&iterator, value.type, &number)
        }
        func text(_ text: String) {
            text.withCString { basic(UnsafePointer<CChar>?.some($0)) }
        }
        func container(_ signature: String?, _ values: [BusValue]) {
            nested(value.type, signature, in: &iterator) { for value in values { append(value, to: &$0) } }
        }
        switch value {
        case .boolean(let boolean): basic(UInt32(boolean ? 1 : 0))
        case .byte(let number): basic(number)
        case .int32(let number): basic(number)
        case .uint32(let number): basic(number)
        case .int64(let number): basic(number)
        case .uint64(let number): basic(number)
        case .double(let number): basic(number)
        case .string(let string): text(BusString.valid(string))
        case .objectPath(let path): text(path)
        case .variant(let inner): container(inner.signature, [inner])
        case .strings(let strings): container("s", strings.map { .string($0) })
        case .bytes(let bytes): container("y", bytes.map { .byte($0) })
        case .structure(let values): container(nil, values)
        case .structures(let signature, let structures): container("(\(signature))", structures.map { .structure($0) })
        case .properties(let properties):
            nested(value.type, "{sv}", in: &iterator) { array in
                for property in properties {
                    nested(BusValue.code("e"), nil, in: &array) { entry in
                        append(.string(property.name), to: &entry)
                        append(.variant(property.value), to: &entry)
                    }
                }
            }
        case .other: preconditionFailure("values of type '\(value.signature)' are read only")
        }
    }

    private static func nested(
        _ type: Int32,
        _ signature: String?,
        in iterator: inout CDBusMessageIter,
        _ body: (inout CDBusMessageIter) -> Void
    ) {
        var inner = CDBusMessageIter()
        _ = dbus.message_iter_open_container(&iterator, type, signature, &inner)
        body(&inner)
        _ = dbus.message_iter_close_container(&iterator, &inner)
    }
}

extension BusValue {
    /// The type code of the D-Bus specification; in C it is a macro that Swift does not import.
    fileprivate static func code(_ letter: UnicodeScalar) -> Int32 { Int32(letter.value) }

    fileprivate var type: Int32 {
        // In messages, the types of structures are "r".
        if case .structure = self { return Self.code("r") }
        return signature.unicodeScalars.first.map(Self.code) ?? 0
    }
}

/// Decodes the values of a message, with a limit: peers on the bus are not trusted.
///
/// A message may cost at most ``limit``. The rest of a string or list beyond that is dropped.
package struct BusDecoder {
    /// The limit in bytes, where a value counts as 16 plus its text: far more than any message that this package
    /// expects.
    package static let limit = 4 << 20

    private var left = limit

    package init() {}

    /// The values from here to the end of the message or container.
    mutating func values(_ iterator: inout CDBusMessageIter) -> [BusValue] {
        var values: [BusValue] = []
        while left > 0, dbus.message_iter_get_arg_type(&iterator) != 0 {
            values.append(value(&iterator))
            _ = dbus.message_iter_next(&iterator)
        }
        return values
    }

    private mutating func value(_ iterator: inout CDBusMessageIter) -> BusValue {
        left -= 16
        let type = UInt8(truncatingIfNeeded: dbus.message_iter_get_arg_type(&iterator))
        func read<Number: BitwiseCopyable>(_ zero: Number) -> Number {
            var number = zero
            dbus.message_iter_get_basic(&iterator, &number)
            return number
        }
        switch UnicodeScalar(type) {
        case "b": return .boolean(read(UInt32(0)) != 0)
        case "y": return .byte(read(0))
        case "u": return .uint32(read(0))
        case "i": return .int32(read(0))
        case "x": return .int64(read(0))
        case "t": return .uint64(read(0))
        case "d": return .double(read(0))
        case "s", "o", "g": return .string(string(read(UnsafePointer<CChar>?.none)))
        case "a": return array(&iterator)
        // Also an entry of a dictionary.
        case "v", "r", "e":
            var inner = CDBusMessageIter()
            dbus.message_iter_recurse(&iterator, &inner)
            return UnicodeScalar(type) == "v" ? .variant(value(&inner)) : .structure(values(&inner))
        default: return .other(type: type)
        }
    }

    private mutating func string(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let length = strnlen(text, max(left, 0))
        left -= length
        // A truncated character becomes U+FFFD.
        return String(decoding: UnsafeRawBufferPointer(start: text, count: length), as: UTF8.self)
    }

    private mutating func array(_ iterator: inout CDBusMessageIter) -> BusValue {
        let elementType = UnicodeScalar(UInt8(truncatingIfNeeded: dbus.message_iter_get_element_type(&iterator)))
        var elements = CDBusMessageIter()
        dbus.message_iter_recurse(&iterator, &elements)
        switch elementType {
        case "s": return .strings(values(&elements).compactMap(\.text))
        case "e":
            return .properties(
                values(&elements).compactMap { entry in
                    guard case .structure(let pair) = entry, pair.count == 2, let name = pair[0].text else {
                        return nil
                    }
                    return BusProperty(name, pair[1].unwrapped)
                }
            )
        case "r":
            let signature = dbus.message_iter_get_signature(&iterator)
            defer { dbus.free(signature) }
            let structures = values(&elements).compactMap { value -> [BusValue]? in
                if case .structure(let values) = value { values } else { nil }
            }
            // Removes "a(" and ")".
            return .structures(String(string(signature).dropFirst(2).dropLast()), structures)
        default: return .other(type: UInt8(ascii: "a"))
        }
    }
}

/// Strings for libdbus.
enum BusString {
    /// `text` in a form that every D-Bus library accepts.
    ///
    /// NUL, which would end the string for libdbus, becomes U+FFFD. So do Unicode's noncharacters: sd-bus rejects
    /// messages with them.
    static func valid(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isRefused) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isRefused($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0 || scalar.properties.isNoncharacterCodePoint
    }
}
