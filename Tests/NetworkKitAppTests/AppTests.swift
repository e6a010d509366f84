import Foundation
import NetworkKit
import NetworkKitTesting
import Testing

/// What an app does with the public API.
@Suite struct AppTests {
    private let url = URL(string: "http://server.example/")!
    private let stubs = NetworkStubs()

    private struct Event: Codable, Equatable {
        var date: Date
    }

    @Test func `The number of elements is a number`() throws {
        let json = try JSONValue(parsing: #"{"items": [1, 2, 3], "names": {"a": 1}}"#)
        #expect(json.items.count == 3)
        #expect(json.names.count == 1)
        #expect(json.missing.count == 0)
    }

    @Test(arguments: [0, 754_000_000, 754_000_000.25]) func `Dates round trip`(_ seconds: Double) async throws {
        let event = Event(date: Date(timeIntervalSinceReferenceDate: seconds))
        try stubs.respond(to: URLRoute(url), with: .json(.encoding(event)))
        let json = try await NetworkClient(options: stubs.options()).send(URLRoute(url)).json()
        #expect(json.date.string?.hasSuffix("Z") == true)
        #expect(try json.decode(Event.self) == event)
    }

    @Test(arguments: ["\"2001-01-01T00:00:10Z\"", "\"2001-01-01T00:00:10.000Z\"", "10", "10.0"])
    func `The dates of servers are read`(_ text: String) async throws {
        try stubs.respond(to: URLRoute(url), with: .data(Data("{\"date\": \(text)}".utf8)))
        let client = NetworkClient(options: stubs.options())
        let event = try await client.send(URLRoute(url)).decode(Event.self)
        #expect(event.date == Date(timeIntervalSinceReferenceDate: 10))
    }

    @Test func `A redirect can be received`() async throws {
        let moved: HTTPFields = [.location: "/next"]
        try stubs.respond(to: URLRoute(url), with: .data(Data("moved".utf8), status: .found, headers: moved))
        let client = NetworkClient(options: stubs.options())
        let request = Endpoint.get("").with(\.followsRedirects, false)
        let response = try await client.send(URLRoute(url, request))
        #expect(response.status == .found)
        #expect(response.headers[.location] == "/next")
        #expect(try response.string() == "moved")
        #expect(stubs.requests.count == 1)
        var text = ""
        for try await piece in try await client.bytes(URLRoute(url, request)) {
            text += String(decoding: piece, as: UTF8.self)
        }
        #expect(text == "moved")
    }
}
