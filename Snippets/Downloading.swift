// Reading responses of any size.

// snippet.hide
import Foundation
import NetworkKit

let server = URL(string: "http://127.0.0.1:8080")!
let file = URL(filePath: "/srv/holiday.mp4")
// snippet.show
// snippet.file
let client = NetworkClient(retry: RequestRetry(maximumAttempts: 5))
_ = try await client.download(URLRoute(server, .get("videos/1.mp4")), to: file) { progress in
    print("\(progress.bytesReceived) of \(progress.bytesToReceive ?? 0) bytes")
}
// snippet.end

// snippet.never
_ = try await client.download(URLRoute(server, .get("videos/1.mp4")), to: file, acrossRuns: true)
// snippet.end

// snippet.sequence
let stream = try await client.bytes(URLRoute(server, .get("events")))
for try await piece in stream {
    print("\(piece.count) bytes")
}
// snippet.end
