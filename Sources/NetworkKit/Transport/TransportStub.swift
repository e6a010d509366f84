import Foundation
import HTTPTypes

/// An answer of a stub, delivered as the network would: for the tests of apps.
package struct StubbedSource: ResponseSource {
    let response: NetworkResponse
    let failure: TransportFailure.Kind?

    /// - Parameter failure: how the response ends after its body; `nil`: as usual.
    package init(_ response: NetworkResponse, failure: TransportFailure.Kind?) {
        (self.response, self.failure) = (response, failure)
    }

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
