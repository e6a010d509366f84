import HTTPTypes

extension NetworkResponse {
    /// Which responses are errors.
    public struct Validation: Sendable {
        /// The statuses that are not; `nil`: any.
        public var statuses: Range<Int>?
        /// The content types that are not, as in `application/json`, `image/*`; `nil`: any. They are sent as `Accept`.
        /// A response without a body needs none.
        public var contentTypes: [String]?

        /// Makes a validation: by default, any response with a status of 200…299 is good.
        public init(statuses: Range<Int>? = 200..<300, contentTypes: [String]? = nil) {
            self.statuses = statuses
            self.contentTypes = contentTypes
        }

        /// Every response is good.
        public static var none: Self { Self(statuses: nil) }

        /// Good are responses with a status of 200…299 and one of these content types.
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
