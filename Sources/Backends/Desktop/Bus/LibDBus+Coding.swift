import BackendConfiguration
import DisplayText
import CDBus
import Foundation

/// Encodes values in messages.
enum BusCoding {
    static func append(_ value: BusValue, to iterator: inout DBusMessageIter) {
        func appendNumber(_ type: Int32, _ number: some BitwiseCopyable) {
            var number = number
            _ = dbus.message_iter_append_basic(&iterator, type, &number)
        }
        switch value {
        case .boolean(let boolean): appendNumber(BusType.boolean, dbus_bool_t(boolean ? 1 : 0))
        case .byte(let number): appendNumber(BusType.byte, number)
        case .int32(let number): appendNumber(BusType.int32, number)
        case .uint32(let number): appendNumber(BusType.uint32, number)
        case .int64(let number): appendNumber(BusType.int64, number)
        case .uint64(let number): appendNumber(BusType.uint64, number)
        case .double(let number): appendNumber(BusType.double, number)
        case .string(let text): append(BusString.valid(text), BusType.string, to: &iterator)
        case .objectPath(let path): append(path, BusType.objectPath, to: &iterator)
        case .variant(let inner):
            appendContainer(BusType.variant, inner.signature, to: &iterator) { append(inner, to: &$0) }
        case .strings(let texts):
            appendContainer(BusType.array, "s", to: &iterator) { array in
                for text in texts { append(.string(text), to: &array) }
            }
        case .properties(let properties):
            appendContainer(BusType.array, "{sv}", to: &iterator) { array in
                for property in properties {
                    appendContainer(BusType.dictionaryEntry, nil, to: &array) { entry in
                        append(.string(property.name), to: &entry)
                        append(.variant(property.value), to: &entry)
                    }
                }
            }
        case .structures(let signature, let structures):
            appendContainer(BusType.array, "(\(signature))", to: &iterator) { array in
                for values in structures {
                    appendContainer(BusType.structure, nil, to: &array) { structure in
                        for value in values { append(value, to: &structure) }
                    }
                }
            }
        case .other(let type):
            preconditionFailure("values of type '\(UnicodeScalar(type))' are read only")
        }
    }

    private static func append(_ text: String, _ type: Int32, to iterator: inout DBusMessageIter) {
        text.withCString { pointer in
            var pointer: UnsafePointer<CChar>? = pointer
            _ = dbus.message_iter_append_basic(&iterator, type, &pointer)
        }
    }

    private static func appendContainer(
        _ type: Int32,
        _ signature: String?,
        to iterator: inout DBusMessageIter,
        _ body: (inout DBusMessageIter) -> Void
    ) {
        var inner = DBusMessageIter()
        _ = dbus.message_iter_open_container(&iterator, type, signature, &inner)
        body(&inner)
        _ = dbus.message_iter_close_container(&iterator, &inner)
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
    mutating func values(_ iterator: inout DBusMessageIter) -> [BusValue] {
        var values: [BusValue] = []
        while left > 0, dbus.message_iter_get_arg_type(&iterator) != BusType.invalid {
            values.append(value(&iterator))
            _ = dbus.message_iter_next(&iterator)
        }
        return values
    }

    private mutating func value(_ iterator: inout DBusMessageIter) -> BusValue {
        left -= 16
        let type = dbus.message_iter_get_arg_type(&iterator)
        func read<Number: BitwiseCopyable>(_ zero: Number) -> Number {
            var number = zero
            dbus.message_iter_get_basic(&iterator, &number)
            return number
        }
        switch type {
        case BusType.boolean: return .boolean(read(dbus_bool_t(0)) != 0)
        case BusType.uint32: return .uint32(read(0))
        case BusType.int32: return .int32(read(0))
        case BusType.int64: return .int64(read(0))
        case BusType.uint64: return .uint64(read(0))
        case BusType.double: return .double(read(0))
        case BusType.string, BusType.objectPath, BusType.signature:
            return .string(string(read(UnsafePointer<CChar>?.none)))
        case BusType.variant:
            var inner = DBusMessageIter()
            dbus.message_iter_recurse(&iterator, &inner)
            return .variant(value(&inner))
        case BusType.array:
            return array(&iterator)
        default:
            return .other(type: UInt8(truncatingIfNeeded: type))
        }
    }

    private mutating func string(_ text: UnsafePointer<CChar>?) -> String {
        guard let text else { return "" }
        let length = strnlen(text, max(left, 0))
        left -= length
        // A truncated character becomes U+FFFD.
        return String(decoding: UnsafeRawBufferPointer(start: text, count: length), as: UTF8.self)
    }

    private mutating func array(_ iterator: inout DBusMessageIter) -> BusValue {
        let elementType = dbus.message_iter_get_element_type(&iterator)
        var elements = DBusMessageIter()
        dbus.message_iter_recurse(&iterator, &elements)
        switch elementType {
        case BusType.string:
            return .strings(values(&elements).compactMap(\.text))
        case BusType.dictionaryEntry:
            var properties: [BusProperty] = []
            while left > 0, dbus.message_iter_get_arg_type(&elements) == BusType.dictionaryEntry {
                var entry = DBusMessageIter()
                dbus.message_iter_recurse(&elements, &entry)
                let pair = values(&entry)
                if pair.count == 2, let name = pair[0].text { properties.append(BusProperty(name, pair[1].unwrapped)) }
                _ = dbus.message_iter_next(&elements)
            }
            return .properties(properties)
        case BusType.structure:
            let signature = dbus.message_iter_get_signature(&iterator)
            defer { dbus.free(signature) }
            var structures: [[BusValue]] = []
            while left > 0, dbus.message_iter_get_arg_type(&elements) == BusType.structure {
                left -= 16
                var structure = DBusMessageIter()
                dbus.message_iter_recurse(&elements, &structure)
                structures.append(values(&structure))
                _ = dbus.message_iter_next(&elements)
            }
            // Removes "a(" and ")".
            return .structures(String(string(signature).dropFirst(2).dropLast()), structures)
        default:
            return .other(type: UInt8(truncatingIfNeeded: BusType.array))
        }
    }
}

/// Strings for libdbus.
enum BusString {
    /// The longest string to send, in bytes. A message may have 128 MiB, but buses allow users less.
    static let longest = 1 << 20

    /// `text` in a form that every D-Bus library accepts, truncated to ``longest`` bytes.
    ///
    /// NUL, which would end the string for libdbus, becomes U+FFFD. So do Unicode's noncharacters: sd-bus rejects
    /// messages with them.
    static func valid(_ text: String) -> String {
        var text = text
        if text.utf8.count > longest {
            var end = text.utf8.index(text.startIndex, offsetBy: longest)
            while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
            text = String(text[..<end])
        }
        guard text.unicodeScalars.contains(where: isRefused) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isRefused($0) ? "\u{FFFD}" : $0 }))
    }

    private static func isRefused(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0 || scalar.properties.isNoncharacterCodePoint
    }
}

/// The type codes of the D-Bus specification; in C they are macros that Swift does not import.
private enum BusType {
    static let invalid = code("\0")
    static let boolean = code("b")
    static let byte = code("y")
    static let int32 = code("i")
    static let uint32 = code("u")
    static let int64 = code("x")
    static let uint64 = code("t")
    static let double = code("d")
    static let string = code("s")
    static let objectPath = code("o")
    static let signature = code("g")
    static let variant = code("v")
    static let array = code("a")
    static let dictionaryEntry = code("e")
    static let structure = code("r")

    private static func code(_ letter: UnicodeScalar) -> Int32 { Int32(letter.value) }
}
