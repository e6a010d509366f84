/// The path of a route, relative to its base URL, written as a string literal: `.get("users/\(name)/posts")`.
///
/// The literal is the structure of the path. An interpolated value is percent-encoded, so it cannot add a segment, a
/// query or a fragment. A `%` in the literal is a percent sign, too. A segment `.` or `..` is an error, because servers
/// remove it, even an encoded one.
public struct RoutePath: ExpressibleByStringInterpolation, Hashable, Sendable {
    /// The path, percent-encoded.
    package let encoded: String

    /// Creates a path from a literal.
    public init(stringLiteral value: String) { encoded = value.percentEncoded(allowed: .path) }

    /// Creates a path from a literal with values.
    public init(stringInterpolation: StringInterpolation) { encoded = stringInterpolation.encoded }

    /// Builds a path from a literal with values.
    public struct StringInterpolation: StringInterpolationProtocol {
        var encoded = ""

        /// Creates an empty path.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Adds a part of the literal.
        public mutating func appendLiteral(_ literal: String) {
            encoded += literal.percentEncoded(allowed: .path)
        }

        /// Adds a value.
        public mutating func appendInterpolation(_ value: some LosslessStringConvertible) {
            encoded += value.description.percentEncoded()
        }
    }

    /// The first segment that is `.` or `..`.
    var dotSegment: Substring? {
        encoded.split(separator: "/").first { $0 == "." || $0 == ".." }
    }
}
