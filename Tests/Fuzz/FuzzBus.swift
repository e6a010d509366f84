#if DBus && DEBUG
import CIndicatorDBus
import Foundation

@testable import DesktopBackends

/// Decodes the bytes as a message, if libdbus accepts them, and a message with values of arbitrary types that the bytes
/// select. Mutations alone rarely find a valid message.
func fuzzBusDecoder(_ bytes: [UInt8]) {
    if let handle = bytes.withUnsafeBytes({ demarshal($0) }) { check(BusMessage(owning: handle)) }
    guard let handle = dbus.message_new_method_call("a.b", "/", "a.b", "c") else { return }
    var iterator = CDBusMessageIter()
    dbus.message_iter_init_append(handle, &iterator)
    var generator = BusGenerator(bytes: bytes)
    while !generator.isAtEnd { generator.append(generator.type(depth: 0), to: &iterator) }
    check(BusMessage(owning: handle))
}

private func demarshal(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
    guard let start = bytes.bindMemory(to: CChar.self).baseAddress else { return nil }
    typealias Demarshal = @convention(c) (UnsafePointer<CChar>, Int32, UnsafeMutableRawPointer?) -> OpaquePointer?
    let symbol = dlsym(dlopen("libdbus-1.so.3", RTLD_NOW), "dbus_message_demarshal")
    return unsafeBitCast(symbol, to: Demarshal.self)(start, Int32(bytes.count), nil)
}

/// Every part of a message can be read within the limits, and the values survive a round trip.
private func check(_ message: BusMessage) {
    _ = (message.interface, message.member, message.path, message.sender, message.signature, message.error)
    let arguments = message.arguments
    precondition(arguments.reduce(0) { $0 + cost($1) } <= BusDecoder.limit + 64)
    let known = arguments.filter(isKnown)
    // The first round trip sanitizes the strings so that every library accepts them.
    let sent = sentAndRead(known)
    // As text: NaN is not equal to itself.
    precondition("\(sentAndRead(sent))" == "\(sent)")
}

private func sentAndRead(_ values: [BusValue]) -> [BusValue] {
    BusMessage.signal(path: "/", interface: "a.b", member: "c", values).arguments
}

/// A lower bound of the cost that the decoder counts.
private func cost(_ value: BusValue) -> Int {
    switch value {
    case .string(let text): 16 + min(text.utf8.count, BusDecoder.limit) / 3
    case .variant(let inner): 16 + cost(inner)
    case .structure(let values): values.reduce(16) { $0 + cost($1) }
    case .strings(let texts): texts.reduce(16) { $0 + 16 + $1.utf8.count / 3 }
    case .properties(let properties): properties.reduce(16) { $0 + 32 + cost($1.value) }
    case .structures(_, let structures):
        structures.reduce(16) { $0 + 16 + $1.reduce(0) { $0 + cost($1) } }
    default: 16
    }
}

/// Whether a value and all values inside it can be sent.
private func isKnown(_ value: BusValue) -> Bool {
    switch value {
    case .other: false
    case .structure(let values): !values.isEmpty && values.allSatisfy(isKnown)
    case .variant(let inner): isKnown(inner)
    case .properties(let properties): properties.allSatisfy { isKnown($0.value) }
    // An object path is read as a string, which cannot be sent as a path.
    case .structures(let signature, let structures):
        structures.allSatisfy { $0.map(\.signature).joined() == signature && $0.allSatisfy(isKnown) }
    default: true
    }
}

/// Generates types and values from bytes.
private struct BusGenerator {
    private var bytes: ArraySlice<UInt8>
    private var hasLongText = false

    init(bytes: [UInt8]) { self.bytes = bytes[...] }

    var isAtEnd: Bool { bytes.isEmpty }

    private mutating func next() -> UInt8 { bytes.popFirst() ?? 0 }

    /// A complete type (D-Bus specification, "Type System").
    mutating func type(depth: Int) -> String {
        let basic = Array("ybnqiuxtdsog").map(String.init)
        let choice = Int(next())
        guard depth < 6, choice >= 128 else { return basic[choice % basic.count] }
        switch choice % 4 {
        case 0: return "v"
        case 1: return "a" + type(depth: depth + 1)
        case 2: return "a{" + basic[Int(next()) % basic.count] + type(depth: depth + 2) + "}"
        default: return "(" + (0...Int(next()) % 3).map { _ in type(depth: depth + 1) }.joined() + ")"
        }
    }

    /// Appends a value of a complete type.
    mutating func append(_ signature: String, to iterator: inout CDBusMessageIter, depth: Int = 0) {
        let code = signature.utf8.first ?? 0
        switch UnicodeScalar(code) {
        case "s": append(text(), code, to: &iterator)
        case "o": append(["/", "/a", "/a/b_0"][Int(next()) % 3], code, to: &iterator)
        case "g": append(["", "s", "a{sv}"][Int(next()) % 3], code, to: &iterator)
        case "v":
            let inner = type(depth: depth + 1)
            append(container: code, inner, to: &iterator) { $0.append(inner, to: &$1, depth: depth + 1) }
        case "a":
            let element = String(signature.dropFirst())
            append(container: code, element, to: &iterator) { generator, array in
                for _ in 0..<generator.next() % 8 where !generator.isAtEnd {
                    generator.append(element, to: &array, depth: depth + 1)
                }
            }
        case "(", "{":
            let isEntry = code == UInt8(ascii: "{")
            append(container: UInt8(ascii: isEntry ? "e" : "r"), nil, to: &iterator) { generator, structure in
                for member in Self.completeTypes(signature.dropFirst().dropLast()) {
                    generator.append(member, to: &structure, depth: depth + 1)
                }
            }
        default:
            var value = (0..<8).reduce(UInt64(0)) { number, _ in number << 8 | UInt64(next()) }
            if code == UInt8(ascii: "b") { value &= 1 }
            _ = dbus.message_iter_append_basic(&iterator, Int32(code), &value)
        }
    }

    private func append(_ text: String, _ code: UInt8, to iterator: inout CDBusMessageIter) {
        text.withCString { pointer in
            var pointer: UnsafePointer<CChar>? = pointer
            _ = dbus.message_iter_append_basic(&iterator, Int32(code), &pointer)
        }
    }

    private mutating func append(
        container code: UInt8,
        _ signature: String?,
        to iterator: inout CDBusMessageIter,
        _ body: (inout Self, inout CDBusMessageIter) -> Void
    ) {
        var inner = CDBusMessageIter()
        _ = dbus.message_iter_open_container(&iterator, Int32(code), signature, &inner)
        body(&self, &inner)
        _ = dbus.message_iter_close_container(&iterator, &inner)
    }

    /// A string without NUL. At most one is longer than the decoder accepts.
    private mutating func text() -> String {
        let length = Int(next())
        let text = String(decoding: bytes.prefix(length % 64).filter { $0 != 0 }, as: UTF8.self)
        bytes = bytes.dropFirst(length % 64)
        guard length == 255, next() == 255, !hasLongText else { return text }
        hasLongText = true
        return String(repeating: text, count: 100_000)
    }

    /// Splits a signature into its complete types.
    private static func completeTypes(_ signature: Substring) -> [String] {
        var types: [String] = []
        var current = ""
        var depth = 0
        for code in signature {
            current.append(code)
            if "({".contains(code) { depth += 1 }
            if ")}".contains(code) { depth -= 1 }
            guard depth == 0, code != "a" else { continue }
            types.append(current)
            current = ""
        }
        return types
    }
}
#endif
