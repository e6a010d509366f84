public import Foundation

extension JSONValue {
    /// The boolean, if it is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The string, if it is one.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The number as an integer, if it is one and fits. `1.0` and `1e3` are integers.
    public var int: Int? {
        if let int = digits.flatMap({ Int($0) }) { return int }
        guard var exact = decimal else { return nil }
        var rounded = Decimal()
        NSDecimalRound(&rounded, &exact, 0, .plain)
        return rounded == exact ? Int("\(rounded)") : nil
    }

    /// The nearest floating-point value, if it is a number that is not too large for one.
    public var double: Double? { digits.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil } }

    /// The number as a decimal, exact up to 38 digits, if it is a number.
    public var decimal: Decimal? {
        digits.flatMap { Decimal(string: $0, locale: Locale(identifier: "en_US_POSIX")) }
    }

    /// The text of the number, if it is one.
    private var digits: String? {
        if case .number(let value) = self { value.description } else { nil }
    }

    /// The elements, if it is an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members, if it is an object.
    public var object: [String: JSONValue]? {
        if case .object(let value) = self { value } else { nil }
    }

    /// The number of elements or members; 0 for other values.
    public var count: Int { array?.count ?? object?.count ?? 0 }

    /// Creates a string.
    public init(_ value: String) { self = .string(value) }

    /// Creates a boolean.
    public init(_ value: Bool) { self = .bool(value) }

    /// Creates a number.
    public init(_ value: some BinaryInteger) { self = .number(JSONNumber(description: String(value))) }

    /// Creates a number, with the shortest text that converts back to it; `null` for infinity and NaN, which JSON does
    /// not have.
    public init(_ value: Double) {
        let text = "\(value)"
        let digits = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        self = value.isFinite ? .number(JSONNumber(description: digits)) : .null
    }

    /// Encodes a value, by default with dates as ISO 8601. A stub responds with `.json(.encoding(post))`.
    public static func encoding(_ value: some Encodable, using encoder: JSONEncoder? = nil) throws -> Self {
        try Self(parsing: (encoder ?? .forParameters).encode(value))
    }

    /// Decodes a type from the value, by default with dates as ISO 8601 or seconds since 2001.
    ///
    /// - Throws: a `DecodingError` with the path of the value that does not match the type.
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

extension JSONValue: Codable {
    /// Decodes a value. The decoder may not keep the text of numbers; ``init(parsing:)-(Data)`` does.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        func decoded<Value: Decodable>() -> Value? { try? container.decode(Value.self) }
        self =
            if container.decodeNil() { .null } else {
                try decoded().map(Self.bool) ?? (decoded() as Int?).map { Self($0) }
                    ?? (decoded() as Double?).map { Self($0) } ?? decoded().map(Self.string)
                    ?? decoded().map(Self.array) ?? .object(container.decode([String: JSONValue].self))
            }
    }

    /// Encodes the value. The encoder may not keep the text of numbers; ``description`` does.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number: if let int { try container.encode(int) } else { try container.encode(double) }
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}
