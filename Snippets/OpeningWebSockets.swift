// Messages in both directions.

// snippet.hide
import Foundation
import NetworkKit

let server = URL(string: "wss://chat.example.com")!
let client = NetworkClient()
// snippet.show
// snippet.chat
let socket = try await client.webSocket(URLRoute(server, .get("rooms/1")))
try await socket.send(.text("hello"))
for try await message in socket {
    switch message {
    case .text(let text): print(text)
    case .data(let data): print("\(data.count) bytes")
    }
}
print("closed with code \(socket.closure?.code ?? 0)")
// snippet.end

// snippet.again
var wait = Duration.seconds(1)
while !Task.isCancelled {
    do {
        let socket = try await client.webSocket(URLRoute(server, .get("rooms/1")))
        wait = .seconds(1)
        for try await message in socket { print(message) }
    } catch let error as NetworkError {
        print(error)
    }
    try await Task.sleep(for: wait)
    wait = min(wait * 2, .seconds(60))
}
// snippet.end
