public import Foundation

/// A JSON value with access to members by name and index, without a type for each response:
/// `json.feed.entry[0]["im:name"].label.string`.
///
/// A missing member, and any member of a value that has none, is ``null``. The typed accessor at the end of a chain
/// then returns `nil`. Members with the name of a property of this type (`string`, `count`) need the subscript.
@dynamicMemberLookup
public enum JSONValue: Hashable, Sendable {
    /// `null`, or a missing member.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, exact up to 38 digits. One of 1e128 or more is read as ``null``.
    case number(Decimal)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object([String: JSONValue])

    /// The member of an object; ``null`` when it is missing.
    public subscript(key: String) -> JSONValue { object?[key] ?? .null }

    /// The element of an array; ``null`` when it is missing.
    public subscript(index: Int) -> JSONValue {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return .null }
        return elements[index]
    }

    /// The member of an object, as if it were a property.
    public subscript(dynamicMember key: String) -> JSONValue { self[key] }

    /// The boolean, if it is one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    /// The string, if it is one.
    public var string: String? { if case .string(let value) = self { value } else { nil } }

    /// The number as an integer, if it is one and fits. `1.0` and `1e3` are integers.
    public var int: Int? { decimal.flatMap { Int("\($0)") } }

    /// The nearest floating-point value, if it is a number.
    public var double: Double? { decimal.flatMap { Double("\($0)") } }

    /// The number, if it is one.
    public var decimal: Decimal? { if case .number(let value) = self { value } else { nil } }

    /// The elements, if it is an array.
    public var array: [JSONValue]? { if case .array(let value) = self { value } else { nil } }

    /// The members, if it is an object.
    public var object: [String: JSONValue]? { if case .object(let value) = self { value } else { nil } }

    /// The number of elements or members; 0 for other values.
    public var count: Int { array?.count ?? object?.count ?? 0 }

    /// Creates a string.
    public init(_ value: String) { self = .string(value) }

    /// Creates a number.
    public init(_ value: some BinaryInteger) { self = Decimal(string: "\(value)").map(Self.number) ?? .null }

    /// Creates a number, with the shortest text that converts back to it; `null` for what is not below 1e128.
    public init(_ value: Double) {
        self = value.isFinite ? Decimal(string: "\(value)").map(Self.number) ?? .null : .null
    }
}

extension JSONValue: Codable, CustomStringConvertible {
    /// Parses JSON (RFC 8259).
    ///
    /// - Throws: `DecodingError`, also for more than 512 levels of nesting.
    public init(parsing data: Data) throws { self = try JSONDecoder().decode(Self.self, from: data) }

    /// Parses JSON, as from data.
    public init(parsing text: String) throws { try self.init(parsing: Data(text.utf8)) }

    /// ``description`` in UTF-8.
    public var serializedData: Data { (try? JSONEncoder.forParameters.encode(self)) ?? Data("null".utf8) }

    /// The value as JSON on one line, with sorted keys.
    public var description: String { String(decoding: serializedData, as: UTF8.self) }

    /// Decodes a value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        func decoded<Value: Decodable>() -> Value? { try? container.decode(Value.self) }
        self =
            if container.decodeNil() { .null } else {
                try decoded().map(Self.string) ?? decoded().map(Self.number) ?? decoded().map(Self.bool)
                    ?? (decoded() as Double?).map { Self($0) } ?? decoded().map(Self.array)
                    ?? .object(container.decode([String: JSONValue].self))
            }
    }

    /// Encodes the value.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }

    /// Encodes a value, by default with dates as ISO 8601. A stub responds with `.json(.encoding(post))`.
    public static func encoding(_ value: some Encodable, using encoder: JSONEncoder? = nil) throws -> Self {
        try Self(parsing: (encoder ?? .forParameters).encode(value))
    }

    /// Decodes a type from the value, by default with dates as ISO 8601 or seconds since 2001. Throws `DecodingError`.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        using decoder: JSONDecoder? = nil
    ) throws -> Value {
        try (decoder ?? .forResponses).decode(type, from: serializedData)
    }
}

extension JSONEncoder {
    static var forParameters: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            let isWhole = date.timeIntervalSinceReferenceDate == date.timeIntervalSinceReferenceDate.rounded()
            try container.encode(date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: !isWhole)))
        }
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension JSONDecoder {
    /// Decodes what ``JSONEncoder/forParameters`` encodes, and what a decoder without settings decodes.
    static var forResponses: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            if let seconds = try? container.decode(Double.self) { return Date(timeIntervalSinceReferenceDate: seconds) }
            let text = try container.decode(String.self)
            for hasFraction in [false, true] {
                let format = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
                if let date = try? format.parse(text) { return date }
            }
            let problem = "'\(text)' is not a date (ISO 8601)"
            throw DecodingError.dataCorruptedError(in: container, debugDescription: problem)
        }
        return decoder
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// `null`.
    public init(nilLiteral: ()) { self = .null }

    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }

    /// A number.
    public init(integerLiteral value: Int) { self.init(value) }

    /// A number.
    public init(floatLiteral value: Double) { self.init(value) }

    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }

    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// An object. The last of duplicate keys counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }
}
