import Foundation

/// A step of a run: a row of its timeline.
struct PlannedStep: Sendable {
    /// What the user reads.
    var title: String
    /// How long after the beginning of its act, or after the step before it ended.
    var delay = Duration.zero
    /// Makes the requests, and throws when what comes back is not what it should be.
    var perform: @Sendable (StepContext) async throws -> Void
}

/// What a run does: acts, one after the other.
struct DemoPlan: Sendable {
    /// Steps that go on side by side.
    struct Act: Sendable {
        /// Each a sequence of steps, one after the other.
        var chains: [[PlannedStep]]
    }

    /// The acts.
    var acts: [Act]

    /// Plans a run.
    ///
    /// - Parameters:
    ///   - server: where the requests go.
    ///   - features: what that server can answer; the rest is left out.
    init(server: URL, features: ServerFeatures) {
        acts = []
        if features.hasTimedAnswers || features.hasEcho {
            acts.append(Act(chains: TimedRequest.chains(server: server, features: features)))
        }
        let visit = StoreVisit()
        if features.hasStore {
            // Side by side.
            acts.append(Act(chains: [[visit.freeFeed(server)], [visit.paidFeed(server)]]))
            #if Images
            acts.append(Act(chains: [[visit.icons, visit.iconsAgain]]))
            #endif
        }
        if features.hasEcho {
            acts.append(Act(chains: [[visit.post(server), visit.upload(server)] + EchoSteps.all(server)]))
        }
    }

    /// The steps in the order of their rows.
    var steps: [PlannedStep] { acts.flatMap { $0.chains.joined() } }

    /// The titles of the rows.
    var titles: [String] { steps.map(\.title) }
}
