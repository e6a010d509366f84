import NetworkKit

extension RequestStep.Phase {
    /// The phase of a request with this progress.
    init(_ progress: TransferProgress) {
        if progress.bytesSent < progress.bytesToSend {
            self = .sending(fraction: Double(progress.bytesSent) / Double(progress.bytesToSend))
        } else if progress.bytesReceived > 0, let total = progress.bytesToReceive, total > 0 {
            self = .receiving(fraction: Double(progress.bytesReceived) / Double(total))
        } else {
            self = .awaitingAnswer
        }
    }
}

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

/// The identity of a request: its row in the plan, and its index among that row's requests.
struct RequestID: Sendable, Hashable {
    var row: Int
    var index = 0
}

extension RequestID: CustomStringConvertible {
    var description: String { "\(row).\(index)" }
}
