/// The path of a route, relative to its base URL, written as a string literal.
///
/// ```swift
/// .get("users/\(name)/posts")
/// ```
///
/// What is written in the literal is the path's structure; what is interpolated is a value within a segment, of which
/// everything but unreserved characters is percent-encoded, so that no value can add a segment, a query or a fragment.
/// The literal is written unencoded too: a `%` in it means a percent sign. A segment that values make `.` or `..` is
/// refused when the request is sent, because clients and servers take such segments away, encoded or not.
public struct RoutePath: ExpressibleByStringInterpolation, Hashable, Sendable {
    /// The path, percent-encoded.
    public let encoded: String

    /// Makes a path of a literal.
    public init(stringLiteral value: String) {
        encoded = PercentEncoding.encode(value, allowed: .path)
    }

    /// Makes a path of a literal with values.
    public init(stringInterpolation: StringInterpolation) {
        encoded = stringInterpolation.encoded
    }

    /// Makes a path of segments, each a value.
    public init(segments: some Sequence<String>) {
        encoded = segments.map { PercentEncoding.encode($0) }.joined(separator: "/")
    }

    /// Makes a path of a text that is known at run time only, whose slashes separate segments. Nothing else in it has a
    /// meaning.
    public init(path: String) {
        encoded = PercentEncoding.encode(path, allowed: .path)
    }

    /// Gathers the pieces of a path.
    public struct StringInterpolation: StringInterpolationProtocol {
        var encoded = ""

        /// Begins a path.
        public init(literalCapacity: Int, interpolationCount: Int) {
            encoded.reserveCapacity(literalCapacity + 8 * interpolationCount)
        }

        /// Adds a piece of structure.
        public mutating func appendLiteral(_ literal: String) {
            encoded += PercentEncoding.encode(literal, allowed: .path)
        }

        /// Adds a value.
        public mutating func appendInterpolation(_ value: some LosslessStringConvertible) {
            encoded += PercentEncoding.encode(value.description)
        }

        /// Adds several segments: the slashes in the value separate them.
        public mutating func appendInterpolation(path value: String) {
            encoded += PercentEncoding.encode(value, allowed: .path)
        }

        /// Adds a value that is one of some strings or numbers.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: LosslessStringConvertible {
            appendInterpolation(value.rawValue)
        }

        /// Adds a value that is text, such as a UUID, by its description.
        public mutating func appendInterpolation(describing value: some CustomStringConvertible) {
            encoded += PercentEncoding.encode(value.description)
        }
    }

    /// The first segment that would be taken away, with what stands before it.
    var dotSegment: Substring? {
        encoded.split(separator: "/").first { $0 == "." || $0 == ".." }
    }
}
