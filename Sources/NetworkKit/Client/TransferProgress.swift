/// How far a request has come.
public struct TransferProgress: Hashable, Sendable {
    /// How many bytes of the request's body were sent.
    public internal(set) var bytesSent: Int64 = 0
    /// How many bytes the request's body has; 0 without one.
    public internal(set) var bytesToSend: Int64 = 0
    /// How many bytes of the response's body have arrived, after decompression.
    public internal(set) var bytesReceived: Int64 = 0
    /// How many bytes the response's body has; `nil` when the server does not say, or compresses.
    public internal(set) var bytesToReceive: Int64?

    /// How much is done, 0…1: of the upload when there is one, else of the download. `nil` when it is not known.
    public var fractionCompleted: Double? {
        if bytesToSend > 0 { return min(1, Double(bytesSent) / Double(bytesToSend)) }
        guard let bytesToReceive else { return nil }
        return bytesToReceive == 0 ? 1 : min(1, Double(bytesReceived) / Double(bytesToReceive))
    }
}
