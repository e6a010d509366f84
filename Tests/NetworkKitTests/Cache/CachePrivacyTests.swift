import Foundation
import HTTPTypes
import IndicatorCore
import IndicatorThreads
import TestSupport
import Testing

@testable import NetworkKit

/// What the cache must not store, or not disclose. Each of these has failed before.
@Suite struct CachePrivacyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var directory: URL { folder.url.appending(path: "cache") }

    private func client(cookies: Bool = false, _ cache: ResponseCache? = nil) -> NetworkClient {
        var options = NetworkClient.Options()
        options.keepsCookies = cookies
        return NetworkClient(cache: cache ?? ResponseCache(directory: directory), options: options)
    }

    /// A server that numbers its answers.
    private func server(headers: [String] = ["Cache-Control: max-age=60"]) throws -> RawServer {
        let count = Counter()
        return try RawServer { request, connection in
            let number = count.next()
            try connection.respond(headers: headers, text: "\(number)")
            return true
        }
    }

    private func text(_ client: NetworkClient, _ server: RawServer, _ fields: [String: String] = [:]) async throws
        -> String
    {
        var headers = HTTPFields()
        for (name, value) in fields { headers[try #require(HTTPField.Name(name))] = value }
        return try await client.send(route(server, .get("", headers: headers))).string()
    }

    private func stored() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
    }

    @Test func `Files contain no secrets`() async throws {
        let server = try server(headers: ["Cache-Control: max-age=60", "Vary: Authorization, Cookie, X-Api-Key"])
        var base = try #require(URLComponents(url: server.url, resolvingAgainstBaseURL: true))
        (base.user, base.password) = ("alice", "hunter1")
        let key = try #require(HTTPField.Name("X-Api-Key"))
        let fields: HTTPFields = [.authorization: "Bearer hunter2", .cookie: "id=hunter3", key: "hunter4"]
        let url = try #require(base.url)
        let request = Endpoint.get("", query: ["token": "hunter5"], headers: fields)
        #expect(try await client().send(URLRoute(url, request)).source == .network)
        #expect(try await client().send(URLRoute(url, request)).source == .cache)
        let files = try stored()
        #expect(files.count == 2)
        for file in files {
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            #expect(!text.contains("hunter") && !text.contains("alice"))
            #expect(!file.lastPathComponent.contains("hunter"))
            let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? NSNumber
            #expect(mode?.intValue == 0o600)
        }
    }

    @Test(
        arguments: [
            "Cookie", "Authorization", "X-Api-Key", "X-Session-Token", "Token", "ApiKey", "X-Auth", "X-Password",
            "X-Session-Id", "X-Any",
        ]
    )
    func `A response is served only for the same field`(field: String) async throws {
        let server = try server()
        let client = client()
        #expect(try await text(client, server, [field: "a"]) == "1")
        #expect(try await text(client, server, [field: "a"]) == "1")
        #expect(try await text(client, server, [field: "b"]) == "2")
        #expect(try await text(client, server) == "3")
        #expect(try await text(client, server, [field: ""]) == "4")
    }

    @Test func `Fields that are no secrets do not matter`() async throws {
        let server = try server()
        let cache = ResponseCache(directory: nil)
        for number in 0..<2 {
            let version = NetworkClient.Interceptor.header("X-App-Version", "\(number)", isSensitive: false)
            let client = NetworkClient(interceptors: [version], cache: cache)
            #expect(try await text(client, server, ["X-Request-ID": "\(number)", "Accept": "a/\(number)"]) == "1")
        }
    }

    @Test func `A response to a request with a body is not stored`() async throws {
        let server = try server()
        let client = client()
        func text(_ body: String, _ policy: CachePolicy = .useProtocolCachePolicy) async throws -> String {
            let request = Endpoint(.get, "", body: .data(Data(body.utf8))).with(\.cachePolicy, policy)
            return try await client.send(route(server, request)).string()
        }
        #expect(try await text("a") == "1")
        #expect(try await text("b") == "2")
        #expect(try await self.text(client, server) == "3")
        #expect(try await text("a", .returnCacheDataElseLoad) == "4")
        let error = await thrown { _ = try await text("a", .returnCacheDataDontLoad) }
        #expect("\(error as Any)".contains("not in the cache"))
        #expect(server.requests.count == 4)
    }

    @Test func `A lock of another user does not stop the cache`() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let folder = open(directory.path, O_RDONLY)
        defer { close(folder) }
        #expect(flock(folder, LOCK_EX) == 0)
        #expect(ResponseCache(directory: directory).diskProblem == nil)
        // Nor does a damaged key.
        try Data("short".utf8).write(to: directory.appending(path: "key"))
        #expect(ResponseCache(directory: directory).diskProblem == nil)
        #expect(try stored().map(\.lastPathComponent) == ["key"])
        #expect(try Data(contentsOf: directory.appending(path: "key")).count == 16)
    }

    @Test func `A response is served only for the same credentials`() async throws {
        let server = try server()
        let client = client()
        func text(_ password: String?) async throws -> String {
            let credentials = password.map { Credentials(user: "u", password: $0, isBasic: true) }
            return try await client.send(route(server, .get("").with(\.credentials, credentials))).string()
        }
        #expect(try await text("a") == "1")
        #expect(try await text("a") == "1")
        #expect(try await text("b") == "2")
        #expect(try await text(nil) == "3")
    }

    @Test(arguments: [
        (["Cache-Control: public, max-age=60"], true), (["Cache-Control: max-age=60"], false),
        (["Cache-Control: public, max-age=60", "Vary: Cookie"], false),
        (["Cache-Control: public, max-age=60", "Set-Cookie: id=\u{AD}1"], false),
    ])
    func `A client that keeps cookies stores what is public`(_ headers: [String], _ isStored: Bool) async throws {
        let server = try server(headers: headers)
        #expect(try await text(client(cookies: true), server) == "1")
        #expect(try await text(client(cookies: true), server) == (isStored ? "1" : "2"))
    }

    @Test func `What varies by cookies is not served to a client that keeps them`() async throws {
        let server = try server(headers: ["Cache-Control: public, max-age=60", "Vary: Cookie"])
        for (keepsCookies, number) in [(false, "1"), (false, "1"), (true, "2")] {
            #expect(try await text(client(cookies: keepsCookies), server) == number)
        }
    }

    @Test(arguments: [0o777, 0o770, 0o702])
    func `A folder that others can write is not used`(mode: Int) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: directory.path)
        let cache = ResponseCache(directory: directory)
        #expect("\(try #require(cache.diskProblem))".contains("only this user"))
        let server = try server()
        #expect(try await text(client(cache), server) == "1")
        #expect(try await text(client(cache), server) == "1")
        #expect(try stored().isEmpty)
    }

    @Test func `A link to a folder is not used`() throws {
        try FileManager.default.createSymbolicLink(at: directory, withDestinationURL: URL(filePath: "/tmp"))
        #expect(ResponseCache(directory: directory).diskProblem != nil)
    }

    @Test func `Files of a killed process make room`() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let names = ["a", "b"].map { ".\(String(repeating: $0, count: 32)).cache.\(UUID()).partial" }
        // The user's files stay.
        for (name, age) in [(names[0], 0), (names[1], 7200), ("my.cache", 9000), (".my.partial", 9000)] {
            let file = directory.appending(path: name)
            try Data(count: 600).write(to: file)
            let date = Date.now.addingTimeInterval(-Double(age))
            try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: file.path)
        }
        #expect(ResponseCache(diskCapacity: 1000, directory: directory).diskProblem == nil)
        #expect(try Set(stored().map(\.lastPathComponent)) == ["key", names[0], "my.cache", ".my.partial"])
    }

    // MARK: - Responses without a lifetime

    @Test func `The default freshness applies to a response without one`() async throws {
        let server = try server(headers: [])
        let client = client(ResponseCache(directory: directory, defaultFreshness: .infinity))
        #expect(try await text(client, server) == "1")
        #expect(try await text(client, server) == "1")
    }

    @Test func `A response to return cache data else load is stored`() async throws {
        let server = try server(headers: [])
        let client = client()
        let request = Endpoint.get("").with(\.cachePolicy, .returnCacheDataElseLoad)
        #expect(try await client.send(route(server, request)).source == .network)
        #expect(try await client.send(route(server, request)).source == .cache)
        #expect(try await client.send(route(server)).source == .network)
    }

    @Test func `The hash is SipHash`() {
        // The vectors of the authors' reference implementation: key 00…0f, input 00…(n-1).
        let hash = KeyedHash(key: Data(0..<16))!
        #expect(hash(Data()) == 0x726F_DB47_DD0E_0E31)
        #expect(hash(Data([0])) == 0x74F8_39C5_93DC_67FD)
        #expect(hash(Data(0..<15)) == 0xA129_CA61_49BE_45E5)
        #expect(KeyedHash(key: hash.key)?(Data([0])) == hash(Data([0])))
    }
}
