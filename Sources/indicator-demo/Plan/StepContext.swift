import Foundation
import IndicatorCore
import NetworkKit

/// Makes the requests of a step, and records their outcomes.
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

    /// The outcomes of the ended requests.
    var outcomes: [RequestOutcome] { state.withLock { $0.outcomes } }

    /// Makes a request and waits for its end.
    func send(_ route: some RequestRoute, _ handling: RequestClient.Handling = .usual) async throws -> NetworkResponse {
        let index = state.withLock { state in
            defer { state.count += 1 }
            return state.count
        }
        let result: Result<NetworkResponse, any Error>
        do {
            let id = RequestID(row: row, index: index)
            result = .success(try await client.send(route, as: id, title: title, handling))
        } catch {
            result = .failure(error)
        }
        state.withLock { $0.outcomes.append(RequestOutcome(result)) }
        return try result.get()
    }
}

/// A response is not as expected.
struct CheckFailure: Error, CustomStringConvertible {
    var description: String
}

/// Throws unless a condition holds.
func check(_ condition: Bool, _ problem: @autoclosure () -> String) throws(CheckFailure) {
    if !condition { throw CheckFailure(description: problem()) }
}
