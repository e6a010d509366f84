// Testing an app without a server.

// snippet.hide
import Foundation  // hidden
import NetworkKit
import NetworkKitTesting

enum Store: RequestRoute {
    case topFree(limit: Int)

    var baseURL: URL { URL(string: "http://127.0.0.1:8080")! }
    var request: Endpoint { .get("feed") }
}

func answer() throws {
    // snippet.show
    // snippet.stubs
    let stubs = NetworkStubs()
    try stubs.respond(to: Store.topFree(limit: 10), with: .status(.serviceUnavailable), .json(["feed": []]))
    let client = NetworkClient(retry: .init(), options: stubs.options())
    // snippet.end
    // snippet.hide
    client.cancelAllRequests()
}

try answer()
