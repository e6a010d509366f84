import Foundation
import HTTPTypes
import NetworkKit

/// The outcome of a request.
enum RequestOutcome: Sendable, Hashable {
    /// The server or the cache responded with this status code.
    case answered(Int, NetworkResponse.Source = .network)
    case refused
    case cancelled
    /// Failed for another reason.
    case failed(String)

    /// Creates the outcome for the result of a request.
    init(_ result: Result<NetworkResponse, any Error>) {
        switch result {
        case .success(let response):
            self = .answered(response.status.code, response.source)
        case .failure(is CancellationError):
            self = .cancelled
        case .failure(NetworkError.unacceptableStatus(let failure)):
            self = .answered(failure.status.code)
        case .failure(NetworkError.transport(let failure)) where failure.kind == .cannotConnect:
            self = .refused
        case .failure(NetworkError.transport(let failure)):
            self = .failed(failure.reason)
        case .failure(let error):
            self = .failed("\(error)")
        }
    }

    /// Short, for the timeline.
    var note: String {
        switch self {
        case .answered(let status, .network): "\(status)"
        case .answered(_, .cache): "from cache"
        case .answered(_, .revalidatedCache): "unchanged"
        case .refused: "refused"
        case .cancelled: "cancelled"
        case .failed: "failed"
        }
    }

    /// Complete, for the progress.
    var text: String {
        switch self {
        case .answered(let status, .network): Self.text(of: status)
        case .answered(_, .cache): "from cache"
        case .answered(_, .revalidatedCache): "from cache, unchanged on the server"
        case .refused: "connection refused"
        case .cancelled: "cancelled"
        case .failed(let reason): "failed: \(reason)"
        }
    }

    private static func text(of code: Int) -> String {
        let known: [HTTPResponse.Status] = [
            .ok, .created, .noContent, .notModified, .badRequest, .unauthorized, .forbidden, .notFound,
            .tooManyRequests, .internalServerError, .badGateway, .serviceUnavailable, .gatewayTimeout,
        ]
        return known.first { $0.code == code }.map { "\(code) \($0.reasonPhrase)" } ?? "\(code)"
    }

    /// Whether the status is below 400.
    var isSuccess: Bool {
        if case .answered(200..<400, _) = self { true } else { false }
    }

    /// Whether the body came from the cache.
    var isFromCache: Bool {
        switch self {
        case .answered(_, .cache), .answered(_, .revalidatedCache): true
        default: false
        }
    }
}
