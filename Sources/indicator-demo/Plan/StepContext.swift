import Foundation
import HTTPTypes
import IndicatorCore
import IndicatorThreads
import NetworkKit

/// What a step of a run makes its requests with, and where their outcomes are noted.
final class StepContext: Sendable {
    private struct State: Sendable {
        var count = 0
        var outcomes: [RequestOutcome] = []
    }

    private let client: RequestClient
    private let row: Int
    private let title: String
    private let state = Locked(State())

    init(client: RequestClient, row: Int, title: String) {
        self.client = client
        self.row = row
        self.title = title
    }

    /// The outcomes of the requests that have ended.
    var outcomes: [RequestOutcome] { state.withLock { $0.outcomes } }

    /// Makes a request and waits until it has ended.
    func send(
        _ route: some RequestRoute,
        announcement: RequestRelay.Announcement = .notifications,
        interference: RequestClient.Interference = .nothing
    ) async throws -> NetworkResponse {
        let index = state.withLock { state in
            defer { state.count += 1 }
            return state.count
        }
        let request = RequestRelay.Request(
            id: RequestID(row: row, index: index),
            title: title,
            announcement: announcement,
            isUpload: route.request.method == .post
        )
        do {
            let response = try await client.send(route, as: request, interference: interference)
            state.withLock { $0.outcomes.append(RequestOutcome(.success(response))) }
            return response
        } catch {
            state.withLock { $0.outcomes.append(RequestOutcome(.failure(error))) }
            throw error
        }
    }
}

/// What came back is not what it should have been.
struct CheckFailure: Error, CustomStringConvertible {
    var description: String
}

/// Throws unless something is as it should be.
func check(_ condition: Bool, _ problem: @autoclosure () -> String) throws(CheckFailure) {
    if !condition { throw CheckFailure(description: problem()) }
}
