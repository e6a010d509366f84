package import Foundation
package import HTTPTypes

/// Answers the requests of a client instead of the network, for the tests of apps.
package protocol TransportStub: Sendable {
    /// The answer to a request, after its delay.
    func answer(to request: NetworkRequest, body: Data) async throws -> StubbedAnswer
}

/// A response without a server.
package struct StubbedAnswer: Sendable {
    package var status: HTTPResponse.Status
    package var headers: HTTPFields
    package var body: Data
    /// Ends the response after the body.
    package var failure: TransportFailure.Kind?

    package init(status: HTTPResponse.Status, headers: HTTPFields, body: Data, failure: TransportFailure.Kind? = nil) {
        self.status = status
        self.headers = headers
        self.body = body
        self.failure = failure
    }
}
