public import Foundation
public import HTTPTypes
import IndicatorCore
public import NetworkKit

/// Answers the requests of an app's client without a server.
///
/// ```swift
/// let stubs = NetworkStubs()
/// try stubs.respond(to: Store.topFree(limit: 10), with: .failure(.timedOut), .json(["feed": []], after: .seconds(2)))
/// let client = NetworkClient(retry: .init(), options: stubs.options())
/// ```
///
/// Only the transfer is replaced: interceptors, redirects, retries, validation, the cache, progress and the indicator
/// work as with a server. Time limits do not apply. It is thread-safe.
public final class NetworkStubs: Sendable {
    /// A response, or a failure.
    public struct Response: Sendable {
        fileprivate var status: HTTPResponse.Status
        fileprivate var headers: HTTPFields
        fileprivate var body: Data
        fileprivate var delay: Duration
        fileprivate var failure: TransportFailure.Kind?
        fileprivate var hasHead = true

        /// Bytes.
        ///
        /// - Parameters:
        ///   - data: the body. The response has its length.
        ///   - status: the status.
        ///   - headers: the header fields.
        ///   - delay: the delay before the response, measured by the stubs' clock.
        ///   - failure: a failure in the middle of the body, after `data`.
        public static func data(
            _ data: Data,
            status: HTTPResponse.Status = .ok,
            headers: HTTPFields = [:],
            after delay: Duration = .zero,
            thenFailing failure: TransportFailure.Kind? = nil
        ) -> Self {
            Self(status: status, headers: headers, body: data, delay: delay, failure: failure)
        }

        /// JSON with its content type.
        public static func json(
            _ value: JSONValue,
            status: HTTPResponse.Status = .ok,
            after delay: Duration = .zero
        ) -> Self {
            let headers: HTTPFields = [.contentType: "application/json"]
            return .data(Data(value.description.utf8), status: status, headers: headers, after: delay)
        }

        /// A status without a body, for example of an error.
        public static func status(_ status: HTTPResponse.Status, after delay: Duration = .zero) -> Self {
            .data(Data(), status: status, after: delay)
        }

        /// A failure before the response.
        public static func failure(_ kind: TransportFailure.Kind, after delay: Duration = .zero) -> Self {
            var response = data(Data(), after: delay, thenFailing: kind)
            response.hasHead = false
            return response
        }
    }

    private struct State {
        /// The remaining responses by method and URL. The last one is repeated.
        var responses: [String: [Response]] = [:]
        var requests: [(request: NetworkRequest, body: Data)] = []
    }

    private let state = Locked(State())
    private let clock: any Clock<Duration>

    /// Creates stubs. A request that has none is an error.
    ///
    /// - Parameter clock: measures the delays.
    public init(clock: any Clock<Duration> = ContinuousClock()) {
        self.clock = clock
    }

    /// Sets the responses to a route, by its method and URL: the first request gets the first one. The last one is
    /// repeated.
    ///
    /// - Throws: the error of the route's URL.
    public func respond(to route: some RequestRoute, with responses: Response...) throws {
        let key = "\(route.request.method.rawValue) \(try route.url().absoluteString)"
        state.withLock { $0.responses[key] = responses }
    }

    /// The requests so far in their order, with their bodies; those in files are left out.
    public var requests: [(request: NetworkRequest, body: Data)] { state.withLock { $0.requests } }

    /// The settings of a client that gets these responses.
    public func options(_ options: NetworkClient.Options = .init()) -> NetworkClient.Options {
        var options = options
        options.stub = { try await self.answer(to: $0, body: $1) }
        return options
    }

    private func answer(to request: NetworkRequest, body: Data) async throws -> Response {
        let key = "\(request.method.rawValue) \(request.url.absoluteString)"
        let (response, known) = state.withLock { state -> (Response?, [String]) in
            state.requests.append((request, body))
            guard let response = state.responses[key]?.first else { return (nil, Array(state.responses.keys)) }
            if state.responses[key]?.count ?? 0 > 1 { state.responses[key]?.removeFirst() }
            return (response, [])
        }
        guard let response else {
            let list = known.sorted().joined(separator: ", ")
            throw NetworkError.invalidRequest("no stub for \(key); there are stubs for: \(list)")
        }
        if response.delay > .zero { try await clock.sleep(for: response.delay) }
        if !response.hasHead, let kind = response.failure {
            throw NetworkError.transport(.init(url: request.url, kind: kind, reason: "the stub fails"))
        }
        return response
    }
}

/// Delivers the response as the network would.
extension NetworkStubs.Response: ResponseSource {
    package func attend(to transfer: Transfer) {
        let mayContinue = transfer.command() == .resume
        guard transfer.begin() else { return mayContinue ? deliverBody(to: transfer) : () }
        var headers = headers
        if transfer.request.method != .head, failure == nil { headers[.contentLength] = "\(body.count)" }
        transfer.received(
            ResponseHead(url: transfer.request.url, status: status, headers: headers, announcesEnd: true)
        )
        deliverBody(to: transfer)
    }

    private func deliverBody(to transfer: Transfer) {
        if transfer.request.method != .head, !body.isEmpty {
            // Once more after the suspension.
            guard transfer.mayTransfer(sends: false) else { return }
            _ = body.withUnsafeBytes { transfer.received($0) }
        }
        transfer.finish(throwing: failure.map { transfer.failure($0, "the stub ends the response with a failure") })
    }
}
