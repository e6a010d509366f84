import Foundation
public import HTTPTypes
import IndicatorThreads
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
        case end(bytesReceived: Int64, NetworkMetrics?, failure: (any Error)?)
    }

    /// What happened.
    public let kind: Kind
    /// The number of the exchange, unique in the process.
    public let exchange: Int
    /// The method.
    public let method: HTTPRequest.Method
    /// The URL, without passwords and query values whose names suggest secrets.
    public let url: String
    /// The header fields of the request or the response. "…" replaces the values of sensitive ones.
    public let headers: HTTPFields

    /// The event on one line, without header fields.
    public var description: String {
        let start = "#\(exchange) \(method.rawValue) \(url)"
        return switch kind {
        case .request: start
        case .response(let status): "\(start): status \(status.code)"
        case .end(let count, let metrics, nil): "\(start): \(count) bytes" + (metrics.map { " in \($0)" } ?? "")
        case .end(_, _, let error?): "\(start): \("\(error)".withoutControls)"
        }
    }
}

/// Describes the events of one exchange.
struct ExchangeLog: Sendable {
    private static let counter = Atomic<Int>(0)
    /// The fields of responses that have no secrets, beside those of requests.
    private static let responseNames: Set<String> = [
        "accept-ranges", "age", "allow", "alt-svc", "content-length", "etag", "expires", "last-modified", "retry-after",
        "server", "strict-transport-security", "trailer", "transfer-encoding", "vary", "www-authenticate",
    ]
    private let number = Self.counter.wrappingAdd(1, ordering: .relaxed).newValue
    private let request: NetworkRequest

    init(_ request: NetworkRequest) {
        self.request = request
    }

    func event(_ kind: NetworkEvent.Kind, _ headers: HTTPFields = [:]) -> NetworkEvent {
        var safe = HTTPFields()
        for field in headers {
            var field = field
            if case .response = kind, field.name == .location {
                field.value = URL(string: field.value)?.withoutSecretValues ?? "…"
            } else if case .response = kind, Self.responseNames.contains(field.name.canonicalName) {
                // The server's own.
            } else if request.isSensitive(field.name) {
                field.value = "…"
            }
            safe.append(field)
        }
        let url = request.url.withoutSecretValues
        return NetworkEvent(kind: kind, exchange: number, method: request.method, url: url, headers: safe)
    }
}

/// The requests of a client that have not ended.
final class LiveTasks: Sendable {
    private let tasks = Locked<[ObjectIdentifier: NetworkTask]>([:])

    func insert(_ task: NetworkTask) {
        tasks.withLock { $0[ObjectIdentifier(task)] = task }
    }

    func remove(_ task: NetworkTask) {
        _ = tasks.withLock { $0.removeValue(forKey: ObjectIdentifier(task)) }
    }

    func cancelAll() {
        for task in tasks.withLock({ Array($0.values) }) { task.cancel() }
    }
}
