/// How far a request has come.
public struct TransferProgress: Hashable, Sendable {
    /// How many bytes of the request's body were sent.
    public internal(set) var bytesSent: Int64 = 0
    /// How many bytes the request's body has; 0 without one, or when it is not known.
    public internal(set) var bytesToSend: Int64 = 0
    /// How many bytes of the response's body have arrived, after decompression.
    public internal(set) var bytesReceived: Int64 = 0
    /// How many bytes the response's body has; `nil` when the server does not say, or compresses.
    public internal(set) var bytesToReceive: Int64?

    /// How much is done, 0…1: of the upload when there is one, else of the download. `nil` when it is not known.
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
