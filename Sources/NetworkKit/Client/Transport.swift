import Foundation
import FoundationNetworking
import IndicatorCore

/// What is sent after the header fields.
enum TransportBody: Sendable {
    case none
    case data(Data)
    case file(URL)
}

/// A whole response as it came over the network.
struct TransportResponse: Sendable {
    var url: URL
    var status: Int
    var headers: ResponseHeaders
    var data: Data
    var isRedirected: Bool
}

/// Sends requests through a `URLSession` with a delegate.
///
/// With a delegate, because on Linux the session's own async calls and completion handlers do not call the delegate's
/// `didCompleteWithError`, and the tasks' `progress` stays at 0.
final class Transport: NSObject, URLSessionDataDelegate, Sendable {
    struct Limits: Sendable {
        var redirects: Int
        var bodySize: Int
    }

    private let limits: Limits
    private let transfers = Locked<[Int: Transfer]>([:])

    init(limits: Limits) {
        self.limits = limits
    }

    /// Sends a request and waits for the whole response. Cancelling the Swift task cancels it.
    func send(
        _ request: URLRequest,
        body: TransportBody,
        session: URLSession,
        control: TransferControl
    ) async throws -> TransportResponse {
        var request = request
        let timeout = request.timeoutInterval
        let task: URLSessionTask
        switch body {
        case .none:
            task = session.dataTask(with: request)
        case .data(let data):
            request.httpBody = data
            task = session.dataTask(with: request)
        case .file(let url):
            task = session.uploadTask(with: request, fromFile: url)
        }
        let transfer = Transfer(request: request, limit: limits.bodySize, control: control)
        transfers.withLock { $0[task.taskIdentifier] = transfer }
        let watch = Task { try await transfer.watch(task, timeout: .seconds(timeout)) }
        defer {
            watch.cancel()
            control.detach()
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                transfer.begin(continuation)
                control.attach(task)
            }
        } onCancel: {
            // The session does not always report the end of a task that is cancelled while it is suspended, so nothing waits for it.
            transfer.finish(throwing: CancellationError())
            task.cancel()
        }
    }

    private func transfer(of task: URLSessionTask) -> Transfer? {
        transfers.withLock { $0[task.taskIdentifier] }
    }

    // MARK: - URLSessionDataDelegate

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping (URLRequest?) -> Void
    ) {
        guard let transfer = transfer(of: task), transfer.countRedirect() <= limits.redirects else {
            self.transfer(of: task)?.finish(throwing: NetworkError.tooManyRedirects(request.url ?? transferURL(task)))
            completionHandler(nil)
            return task.cancel()
        }
        completionHandler(request.withoutCredentials(unlessAt: transferURL(task)))
    }

    private func transferURL(_ task: URLSessionTask) -> URL {
        task.originalRequest?.url ?? URL(filePath: "/")
    }

    func urlSession(
        _ session: URLSession,
        dataTask: URLSessionDataTask,
        didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        transfer(of: dataTask)?.received(response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if transfer(of: dataTask)?.received(data) == false { dataTask.cancel() }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didSendBodyData bytesSent: Int64,
        totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        transfer(of: task)?.sent(totalBytesSent, of: totalBytesExpectedToSend)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard (task.response as? HTTPURLResponse)?.statusCode == 401 else {
            return completionHandler(.performDefaultHandling, nil)
        }
        // Interceptors bring the credentials, so a 401 is the answer. On Linux the session never ends a task whose challenge is left to
        // its default handling.
        transfer(of: task)?.completed(with: nil, response: task.response)
        completionHandler(.cancelAuthenticationChallenge, nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let transfer = transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        transfer?.completed(with: error, response: task.response)
    }
}

extension URLRequest {
    /// The request to follow a redirect with. What identifies the user goes to the same scheme, host and port only (RFC 9110
    /// §15.4).
    fileprivate func withoutCredentials(unlessAt original: URL) -> URLRequest {
        guard let url, url.origin != original.origin else { return self }
        var copy = self
        for name in ["Authorization", "Cookie", "Proxy-Authorization"] { copy.setValue(nil, forHTTPHeaderField: name) }
        return copy
    }
}

extension URL {
    fileprivate var origin: [String?] {
        let scheme = scheme?.lowercased()
        return [scheme, host()?.lowercased(), String(port ?? (scheme == "https" ? 443 : 80))]
    }
}
