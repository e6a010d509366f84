/// Which responses are errors.
public struct ResponseValidation: Sendable {
    /// The accepted statuses; `nil`: all.
    package var statuses: Range<Int>?
    /// The accepted content types, such as `application/json` or `image/*`; `nil`: all. They are sent as `Accept`.
    /// A response without a body needs no content type.
    package var contentTypes: [String]?
    /// Whether a redirect is accepted, too: it is not followed.
    var acceptsRedirects = false

    /// Creates a validation. The default accepts every status from 200 to 299.
    public init(statuses: Range<Int>? = 200..<300, contentTypes: [String]? = nil) {
        self.statuses = statuses
        self.contentTypes = contentTypes
    }

    /// Accepts every response.
    public static var all: Self { Self(statuses: nil) }

    /// Accepts the statuses 200 to 299 with one of these content types.
    public static func contentTypes(_ types: String...) -> Self { Self(contentTypes: types) }
}
