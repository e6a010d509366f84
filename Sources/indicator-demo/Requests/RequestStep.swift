/// The current step of a request: its value in the demo's tracker, which the backends show.
struct RequestStep: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        case sending(fraction: Double)
        case awaitingAnswer
        case receiving(fraction: Double)
    }

    /// The title of the request for the user.
    var title: String
    var phase: Phase

    /// The label of the indicator.
    var label: String {
        switch phase {
        case .sending: "\(title): sending"
        case .awaitingAnswer: "\(title): awaiting the answer"
        case .receiving: "\(title): receiving"
        }
    }

    /// The progress of the indicator.
    var progress: Double? {
        switch phase {
        case .sending(let fraction), .receiving(let fraction): fraction
        case .awaitingAnswer: nil
        }
    }
}
