import BackendConfiguration
import IndicatorCore

/// A value of a D-Bus type (D-Bus specification, "Type System").
public indirect enum BusValue: Sendable, Hashable {
    /// `b`
    case boolean(Bool)
    /// `y`
    case byte(UInt8)
    /// `i`
    case int32(Int32)
    /// `u`
    case uint32(UInt32)
    /// `x`
    case int64(Int64)
    /// `t`
    case uint64(UInt64)
    /// `d`
    case double(Double)
    /// `s`; also `o` and `g` when decoded.
    case string(String)
    /// `o`; decoded as ``string(_:)``.
    case objectPath(String)
    /// `v`
    case variant(BusValue)
    /// `as`
    case strings([String])
    /// `ay`; never read.
    case bytes([UInt8])
    /// `a{sv}`, in the order of the message.
    case properties([BusProperty])
    /// An array of structures, such as `a(sd)`: the signature of the structure without its parentheses, and the values
    /// of each.
    case structures(String, [[BusValue]])
    /// A structure, such as `(ii)`.
    case structure([BusValue])
    /// A value of another type, with its type code. It cannot be sent.
    case other(type: UInt8)

    /// The value inside a variant; otherwise the value itself.
    public var unwrapped: BusValue {
        if case .variant(let inner) = self { inner } else { self }
    }

    /// The text of a string.
    public var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// The signature of the type.
    public var signature: String {
        switch self {
        case .boolean: "b"
        case .byte: "y"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .variant: "v"
        case .strings: "as"
        case .bytes: "ay"
        case .properties: "a{sv}"
        case .structures(let signature, _): "a(\(signature))"
        case .structure(let values): "(\(values.map(\.signature).joined()))"
        case .other(let type): String(UnicodeScalar(type))
        }
    }
}

/// A property of a D-Bus object: an entry of `a{sv}`.
public struct BusProperty: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value, without its variant.
    public var value: BusValue

    /// Makes a property.
    public init(_ name: String, _ value: BusValue) {
        self.name = name
        self.value = value
    }
}

/// An error of a bus, of a peer on it, or of libdbus.
public struct BusError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The name of the error, such as `org.freedesktop.DBus.Error.NoReply`.
    public var name: String
    /// The message of the bus, the peer or libdbus.
    public var text: String

    /// Makes an error.
    public init(name: String, text: String) {
        self.name = name
        self.text = text
    }

    /// One of the errors of the specification, by the end of its name.
    static func standard(_ name: String, _ text: String) -> Self {
        Self(name: "org.freedesktop.DBus.Error.\(name)", text: text)
    }

    /// An error with the text of another process, sanitized.
    init(name: String, ofPeer text: String) {
        self.init(name: name, text: SafeText.singleLine(text, limit: 300))
    }

    /// The text; without one, the name.
    public var description: String { text.isEmpty ? name : text }

    /// The connection has ended.
    static let disconnected = standard("Disconnected", "the connection to the bus was closed")
    /// The bus accepts no connections.
    static let notAccepting = standard("NoServer", "the bus accepts no connections")
    /// A name or a path that the bus, or a peer on it, has sent.
    static let invalidName = standard("InvalidArgs", "the bus has sent an invalid name")
    /// The peer did not answer in time.
    static let noReply = standard("NoReply", "the bus does not answer")
}
