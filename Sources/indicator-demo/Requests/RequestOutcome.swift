import Foundation
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

    /// What the user reads.
    var text: String {
        switch self {
        case .answered(let status, .network): "\(status)"
        case .answered(_, .cache): "from cache"
        case .answered(_, .revalidatedCache): "unchanged"
        case .refused: "connection refused"
        case .cancelled: "cancelled"
        case .failed(let reason): "failed: \(reason)"
        }
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
