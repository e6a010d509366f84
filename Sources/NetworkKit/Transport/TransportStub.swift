package import Foundation
import HTTPTypes

/// Answers the requests of a client instead of the network, for the tests of apps.
package protocol TransportStub: Sendable {
    /// The answer to a request, after its delay, and how it ends after the body, if with a failure.
    func answer(
        to request: NetworkRequest,
        body: Data
    ) async throws -> (response: NetworkResponse, failure: TransportFailure.Kind?)
}

/// Delivers an answer as the network would.
struct StubbedSource: ResponseSource {
    let response: NetworkResponse
    let failure: TransportFailure.Kind?

    func attend(to transfer: Transfer) {
        let mayContinue = transfer.command() == .resume
        guard transfer.begin() else { return mayContinue ? deliverBody(to: transfer) : () }
        var head = ResponseHead(url: transfer.request.url, status: response.status, headers: response.headers)
        head.announcesEnd = true
        if transfer.request.method != .head, failure == nil { head.headers[.contentLength] = "\(response.data.count)" }
        transfer.received(head)
        deliverBody(to: transfer)
    }

    private func deliverBody(to transfer: Transfer) {
        if transfer.request.method != .head, !response.data.isEmpty {
            // Once more after the suspension.
            if response.data.withUnsafeBytes({ transfer.received($0) }) == .pause { return }
        }
        transfer.finish(throwing: failure.map { transfer.failure($0, "the stub ends the response with a failure") })
    }
}
