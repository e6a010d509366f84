import Foundation
import FoundationNetworking

/// How a request came out.
enum RequestOutcome: Sendable, Hashable {
    /// The server answered, with this status code.
    case answered(Int)
    case refused
    case cancelled
    /// It failed for another reason.
    case failed(String)

    /// Reads what a task came to.
    init(response: URLResponse?, error: (any Error)?) {
        if let error = error as? URLError {
            switch error.code {
            case .cancelled: self = .cancelled
            case .cannotConnectToHost: self = .refused
            default: self = .failed(error.localizedDescription)
            }
        } else if let error {
            self = .failed("\(error)")
        } else if let status = (response as? HTTPURLResponse)?.statusCode {
            self = .answered(status)
        } else {
            self = .failed("no answer")
        }
    }

    /// In a word, for the timeline.
    var note: String {
        switch self {
        case .answered(let status): "\(status)"
        case .refused: "refused"
        case .cancelled: "cancelled"
        case .failed: "failed"
        }
    }

    /// In full, for the progress.
    var text: String {
        switch self {
        case .answered(let status): "\(status) \(HTTPURLResponse.localizedString(forStatusCode: status))"
        case .refused: "connection refused"
        case .cancelled: "cancelled"
        case .failed(let reason): "failed: \(reason)"
        }
    }

    /// Whether the server answered with what was asked for.
    var isSuccess: Bool {
        if case .answered(200..<400) = self { true } else { false }
    }
}
