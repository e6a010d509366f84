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

/// Delivers an answer as the network would.
struct StubbedSource: ResponseSource {
    let answer: StubbedAnswer

    func attend(to transfer: Transfer) {
        let mayContinue = transfer.command() == .resume
        guard transfer.begin() else { return mayContinue ? deliverBody(to: transfer) : () }
        var head = ResponseHead(url: transfer.request.url, status: answer.status, headers: answer.headers)
        head.announcesEnd = true
        if transfer.request.method != .head, answer.failure == nil {
            head.headers[.contentLength] = "\(answer.body.count)"
        }
        transfer.received(head)
        deliverBody(to: transfer)
    }

    private func deliverBody(to transfer: Transfer) {
        if transfer.request.method != .head, !answer.body.isEmpty {
            // Once more after the suspension.
            if answer.body.withUnsafeBytes({ transfer.received($0) }) == .pause { return }
        }
        let reason = "the stub ends the response with a failure"
        transfer.finish(throwing: answer.failure.map { transfer.failure($0, reason) })
    }
}
