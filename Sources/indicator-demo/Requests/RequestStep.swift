/// What a request is doing: the value that is associated with it in the demo's tracker, and so what the surfaces say.
struct RequestStep: Sendable, Hashable {
    enum Phase: Sendable, Hashable {
        case sending(fraction: Double)
        case awaitingAnswer
        case receiving(fraction: Double)
    }

    /// What the user knows the request by.
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
