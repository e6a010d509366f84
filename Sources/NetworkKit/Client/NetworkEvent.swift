import Foundation
public import HTTPTypes
import Synchronization

/// A step of an exchange with a server, for logs: see ``NetworkClient/Options/onEvent``.
///
/// Each attempt and each redirect is an exchange of its own. The description is one line without secrets.
public struct NetworkEvent: Sendable, CustomStringConvertible {
    /// What happened.
    public enum Kind: Sendable {
        /// A request is ready to be sent. It may wait for others to the same host.
        case request
        /// The head of a response has arrived.
        case response(HTTPResponse.Status)
        /// The exchange has ended: how many bytes of the response's body were received, and the error, if it failed.
        case end(bytesReceived: Int64, failure: (any Error)?)
    }

    /// What happened.
    public let kind: Kind
    /// The number of the exchange, unique in the process.
    public let exchange: Int
    /// The method.
    public let method: HTTPRequest.Method
    /// The URL, without passwords and query.
    public let url: String
    /// The header fields of the request or the response. "…" replaces the values of sensitive ones.
    public let headers: HTTPFields

    /// The event on one line, without header fields.
    public var description: String {
        let start = "#\(exchange) \(method.rawValue) \(url)"
        return switch kind {
        case .request: start
        case .response(let status): "\(start): status \(status.code)"
        case .end(let count, nil): "\(start): \(count) bytes"
        case .end(_, let error?): "\(start): \("\(error)".withoutControls)"
        }
    }

    private static let counter = Atomic(0)
    static var nextExchange: Int { counter.wrappingAdd(1, ordering: .relaxed).newValue }

    init(_ kind: Kind, _ exchange: Int, _ request: NetworkRequest, _ headers: HTTPFields = [:]) {
        (self.kind, self.exchange, method, url) = (kind, exchange, request.method, request.url.withoutSecrets)
        self.headers = HTTPFields(
            headers.map { field in
                var field = field
                if [.location, .contentLocation].contains(field.name) {
                    field.value = URL(string: field.value)?.withoutSecrets ?? "…"
                } else if request.isSensitive(field.name) {
                    field.value = "…"
                }
                return field
            }
        )
    }
}
