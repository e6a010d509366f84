import Foundation
import IndicatorCommands
import IndicatorCore
import NetworkKit

extension DemoRun.Result {
    /// The output of `run --json`.
    ///
    /// - Parameter omissions: the parts that were left out because the server does not support them.
    func report(_ backends: [ProgramBackend], omissions: [String]) -> JSON {
        let outcomes = moments.flatMap { moment -> [RequestOutcome] in
            if case .result(_, let result) = moment.event { result.outcomes } else { [] }
        }
        func count(_ condition: (RequestOutcome) -> Bool) -> JSON { JSON(outcomes.count(where: condition)) }
        func list(_ changes: [VisibilityChange]) -> JSON {
            .array(
                changes.map { change in
                    let seconds = (change.instant / .seconds(1) * 1e6).rounded() / 1e6
                    return ["atSeconds": JSON(seconds), "visible": JSON(change.isVisible)]
                }
            )
        }
        let states = backends.map { backend -> JSON in
            let status = statuses.first { $0.name == backend.name }
            let error = status?.lastError ?? backend.reason
            return [
                "name": JSON(backend.name), "kind": JSON(backend.kind),
                "state": JSON(status?.state.name ?? "unavailable"), "updates": JSON(status?.updatesDelivered ?? 0),
                "error": error.map { JSON($0) } ?? .null,
            ]
        }
        let requests: JSON = [
            "total": JSON(outcomes.count), "succeeded": count(\.isSuccess), "cancelled": count { $0 == .cancelled },
            "failed": count { !$0.isSuccess && $0 != .cancelled }, "fromCache": count(\.isFromCache),
        ]
        return [
            "requests": requests, "visibility": list(observed), "expectedVisibility": list(expected),
            "backends": .array(states), "problems": .array(problems.map { JSON($0) }),
            "omissions": .array(omissions.map { JSON($0) }),
        ]
    }
}
