import Foundation

/// A step of a run: a row of its timeline.
struct PlannedStep: Sendable {
    /// The title for the user.
    var title: String
    /// The delay after the beginning of the act, or after the end of the previous step.
    var delay = Duration.zero
    /// Makes the requests, and throws when a response is not as expected.
    var perform: @Sendable (StepContext) async throws -> Void
}

/// The plan of a run: acts, one after the other.
struct DemoPlan: Sendable {
    /// Steps that run concurrently.
    struct Act: Sendable {
        /// Concurrent sequences of steps.
        var chains: [[PlannedStep]]
    }

    /// The acts.
    var acts: [Act]

    /// Plans a run.
    ///
    /// - Parameters:
    ///   - server: where the requests go.
    ///   - features: the features of that server. Steps that need others are left out.
    init(server: URL, features: ServerFeatures) {
        acts = []
        if features.hasTimedAnswers || features.hasEcho {
            acts.append(Act(chains: TimedRequest.chains(server: server, features: features)))
        }
        let visit = StoreVisit()
        if features.hasStore {
            // Concurrently.
            acts.append(Act(chains: [[visit.freeFeed(server)], [visit.paidFeed(server)]]))
            acts.append(Act(chains: [[visit.icons, visit.iconsAgain]]))
        }
        if features.hasEcho {
            acts.append(Act(chains: [[visit.post(server), visit.upload(server)] + PlannedStep.echoes(server)]))
        }
    }

    /// The steps in the order of their rows.
    var steps: [PlannedStep] { acts.flatMap { $0.chains.joined() } }
}
