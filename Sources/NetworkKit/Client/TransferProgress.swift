/// The progress of a request.
public struct TransferProgress: Hashable, Sendable {
    /// The number of bytes sent of the request's body.
    public internal(set) var bytesSent: Int64 = 0
    /// The length of the request's body in bytes; 0 without one, or when it is unknown.
    public internal(set) var bytesToSend: Int64 = 0
    /// The number of bytes received of the response's body, after decompression.
    public internal(set) var bytesReceived: Int64 = 0
    /// The length of the response's body in bytes; `nil` when the server does not send it, or compresses the body.
    public internal(set) var bytesToReceive: Int64?

    /// The completed fraction, 0…1: of the upload if there is one, else of the download. `nil` when it is unknown.
    public var fractionCompleted: Double? {
        let (count, total) = shown
        guard let total else { return nil }
        return total == 0 ? 1 : min(1, Double(count) / Double(total))
    }

    /// What the indicator shows.
    var shown: (count: Int64, total: Int64?) {
        bytesToSend > 0 ? (bytesSent, bytesToSend) : (bytesReceived, bytesToReceive)
    }
}
