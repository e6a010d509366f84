/// The method of a request (RFC 9110 §9, RFC 5789).
public struct HTTPMethod: RawRepresentable, Hashable, Sendable {
    /// The method's name, in capitals for all that are registered; methods are case-sensitive.
    public let rawValue: String

    /// Makes a method of its name.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// `GET`
    public static let get = HTTPMethod(rawValue: "GET")
    /// `HEAD`
    public static let head = HTTPMethod(rawValue: "HEAD")
    /// `POST`
    public static let post = HTTPMethod(rawValue: "POST")
    /// `PUT`
    public static let put = HTTPMethod(rawValue: "PUT")
    /// `PATCH`
    public static let patch = HTTPMethod(rawValue: "PATCH")
    /// `DELETE`
    public static let delete = HTTPMethod(rawValue: "DELETE")
    /// `OPTIONS`
    public static let options = HTTPMethod(rawValue: "OPTIONS")

    /// Whether sending the same request twice has the effect of sending it once (RFC 9110 §9.2.2): only such requests are
    /// retried.
    public var isIdempotent: Bool {
        ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(rawValue)
    }

    /// Whether the request only reads (RFC 9110 §9.2.1).
    var isSafe: Bool { ["GET", "HEAD", "OPTIONS", "TRACE"].contains(rawValue) }

    /// Whether the name is a token (RFC 9110 §5.6.2).
    var isValid: Bool { rawValue.isHTTPToken }
}

extension String {
    /// Whether this is a token (RFC 9110 §5.6.2), as names of methods and header fields must be.
    var isHTTPToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// Whether this can be the value of a header field (RFC 9110 §5.5): a line break in it would begin another field.
    var isHTTPFieldValue: Bool {
        utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
    }
}
