import HTTPTypes

extension NetworkResponse {
    /// Which responses are errors.
    public struct Validation: Sendable {
        /// The accepted statuses; `nil`: all.
        package var statuses: Range<Int>?
        /// The accepted content types, such as `application/json` or `image/*`; `nil`: all. They are sent as `Accept`.
        /// A response without a body needs no content type.
        package var contentTypes: [String]?

        /// Creates a validation. The default accepts every status from 200 to 299.
        public init(statuses: Range<Int>? = 200..<300, contentTypes: [String]? = nil) {
            self.statuses = statuses
            self.contentTypes = contentTypes
        }

        /// Accepts every response.
        public static var none: Self { Self(statuses: nil) }

        /// Accepts the statuses 200 to 299 with one of these content types.
        public static func contentTypes(_ types: String...) -> Self { Self(contentTypes: types) }

        func check(_ response: NetworkResponse) throws(NetworkError) {
            if let statuses, !statuses.contains(response.status.code) {
                throw .unacceptableStatus(ResponseFailure(response))
            }
            guard let contentTypes, !response.data.isEmpty else { return }
            let type = ContentType(response.headers[.contentType])
            if !contentTypes.contains(where: { type?.matches($0) ?? false }) {
                throw .unacceptableContentType(ResponseFailure(response), accepted: contentTypes)
            }
        }
    }
}
