import Foundation
import FoundationNetworking
import IndicatorCore

/// One request on its way through the session: what has arrived of its response, and who waits for it.
final class Transfer: Sendable {
    private struct State {
        var continuation: CheckedContinuation<TransportResponse, any Error>?
        /// How it ended, when that was before anyone waited.
        var outcome: Result<TransportResponse, any Error>?
        var isFinished = false
        var response: HTTPURLResponse?
        var data = Data()
        var redirects = 0
        var lastActivity = ContinuousClock.now
    }

    private let url: URL
    private let limit: Int
    private let control: TransferControl
    private let state = Locked(State())

    init(request: URLRequest, limit: Int, control: TransferControl) {
        url = request.url ?? URL(filePath: "/")
        self.limit = limit
        self.control = control
    }

    func begin(_ continuation: CheckedContinuation<TransportResponse, any Error>) {
        let outcome = state.withLock { state in
            if state.outcome == nil { state.continuation = continuation }
            return state.outcome
        }
        if let outcome { continuation.resume(with: outcome) }
    }

    func finish(throwing error: any Error) {
        finish(.failure(error))
    }

    private func finish(_ outcome: Result<TransportResponse, any Error>) {
        let continuation = state.withLock { state -> CheckedContinuation<TransportResponse, any Error>? in
            guard !state.isFinished else { return nil }
            state.isFinished = true
            state.data = Data()
            guard let continuation = state.continuation else {
                state.outcome = outcome
                return nil
            }
            state.continuation = nil
            return continuation
        }
        continuation?.resume(with: outcome)
    }

    /// Waits until nothing has happened for too long, and fails the request then. While it is paused nothing can happen, and that
    /// time does not count.
    ///
    /// `URLSession` on Linux does not heed the timeout of a request, only that of its configuration.
    /// Of the header fields nothing is heard before they are whole.
    func watch(_ task: URLSessionTask, timeout: Duration) async throws {
        while true {
            let idle = ContinuousClock.now - state.withLock { $0.lastActivity }
            if control.isSuspended {
                state.withLock { $0.lastActivity = .now }
            } else if idle >= timeout {
                // First, so that the session's own report of the cancellation comes too late.
                finish(throwing: failure(.timedOut, "nothing was heard for \(timeout)"))
                return task.cancel()
            }
            try await Task.sleep(for: max(timeout - idle, .milliseconds(1)))
        }
    }

    func countRedirect() -> Int {
        state.withLock { state in
            state.lastActivity = .now
            state.redirects += 1
            return state.redirects
        }
    }

    func received(_ response: URLResponse) {
        guard let response = response as? HTTPURLResponse else { return }
        state.withLock { state in
            state.response = response
            state.data = Data()
            state.lastActivity = .now
        }
        let length = response.hasDecodedBody ? -1 : response.expectedContentLength
        control.progress { progress in
            progress.bytesReceived = 0
            progress.bytesToReceive = length >= 0 ? length : nil
        }
    }

    /// Takes a piece of the body. Returns whether more of it is wanted.
    func received(_ data: Data) -> Bool {
        let count = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            state.data.append(data)
            state.lastActivity = .now
            return state.data.count
        }
        guard let count else { return false }
        guard count <= limit else {
            finish(throwing: NetworkError.responseTooLarge(url, limit: limit))
            return false
        }
        control.progress { $0.bytesReceived = Int64(count) }
        return true
    }

    func sent(_ count: Int64, of total: Int64) {
        state.withLock { $0.lastActivity = .now }
        control.progress { progress in
            progress.bytesSent = count
            if total > 0 { progress.bytesToSend = total }
        }
    }

    func completed(with error: (any Error)?, response: URLResponse?) {
        let taken = state.withLock { state in
            (response: state.response, data: state.data, isRedirected: state.redirects > 0)
        }
        if let error {
            if (error as? URLError)?.code == .httpTooManyRedirects {
                return finish(throwing: NetworkError.tooManyRedirects(url))
            }
            return finish(throwing: NetworkError.transport(TransportFailure(url: url, error: error)))
        }
        guard let response = taken.response ?? response as? HTTPURLResponse else {
            return finish(throwing: failure(.badServerResponse, "the server sent no HTTP response"))
        }
        if let missing = response.missingBytes(of: taken.data.count, from: control.method) {
            return finish(throwing: failure(.networkConnectionLost, missing))
        }
        finish(
            .success(
                TransportResponse(
                    url: response.url ?? url,
                    status: response.statusCode,
                    headers: ResponseHeaders(response.allHeaderFields),
                    data: taken.data,
                    isRedirected: taken.isRedirected
                )
            )
        )
    }

    private func failure(_ code: URLError.Code, _ reason: String) -> NetworkError {
        .transport(TransportFailure(url: url, code: code, reason: reason))
    }
}

extension TransportFailure {
    init(url: URL, error: any Error) {
        let code = (error as? URLError)?.code ?? .unknown
        self.init(url: url, code: code, reason: (error as NSError).localizedDescription)
    }
}

extension HTTPURLResponse {
    /// Whether the body was decompressed, so that `Content-Length` says nothing of it.
    fileprivate var hasDecodedBody: Bool {
        value(forHTTPHeaderField: "Content-Encoding").map { $0.lowercased() != "identity" } ?? false
    }

    /// Says what is missing when fewer bytes arrived than `Content-Length` announced. The session reports that itself in most
    /// cases.
    fileprivate func missingBytes(of count: Int, from method: String) -> String? {
        // Of a redirect that is not followed the session on Linux keeps the body to itself.
        guard method != "HEAD", !hasDecodedBody, statusCode != 204, !(300..<400).contains(statusCode),
            value(forHTTPHeaderField: "Transfer-Encoding") == nil,
            let length = value(forHTTPHeaderField: "Content-Length").flatMap(Int.init), count != length
        else { return nil }
        return "the response has \(count) bytes where Content-Length announced \(length)"
    }
}
