import NetworkKit

/// The current step of a request: its value in the demo's tracker, which the backends show.
struct RequestStep: Sendable, Hashable {
    /// The label of the indicator.
    var label: String
    /// The progress of the indicator.
    var progress: Double?

    /// Creates the step of a request with this title and progress.
    init(_ title: String, _ transfer: TransferProgress? = nil) {
        if let transfer, transfer.bytesSent < transfer.bytesToSend {
            (label, progress) = ("\(title): sending", transfer.fractionCompleted)
        } else if let transfer, transfer.bytesReceived > 0, let total = transfer.bytesToReceive, total > 0 {
            (label, progress) = ("\(title): receiving", Double(transfer.bytesReceived) / Double(total))
        } else {
            label = "\(title): awaiting the answer"
        }
    }
}

/// The identity of a request: its row in the plan, and its index among that row's requests.
struct RequestID: Sendable, Hashable, CustomStringConvertible {
    var row: Int
    var index = 0

    var description: String { "\(row).\(index)" }
}
