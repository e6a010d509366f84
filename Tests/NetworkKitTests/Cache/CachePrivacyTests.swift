import TestSupport

@testable import NetworkKit

/// What the cache must not store, or not disclose. Each of these has failed before.
@Suite struct CachePrivacyTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private var directory: URL { folder.url.appending(path: "cache") }

    /// Runs a script of requests, whose responses have a lifetime of a minute.
    private func run(
        _ script: String,
        _ fields: [String] = ["Cache-Control: max-age=60"],
        freshness: Double = 0
    ) async throws {
        try await CacheScript(fields, in: directory, freshness: freshness).run(script)
    }

    private func stored() throws -> [URL] {
        try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
    }

    @Test func `Files contain no secrets`() async throws {
        let server = try RawServer.keeping { _, connection in
            let fields = ["Cache-Control: max-age=60", "Vary: Authorization, Cookie, X-Api-Key"]
            try connection.respond(headers: fields, text: "text")
        }
        var base = try #require(URLComponents(url: server.url, resolvingAgainstBaseURL: true))
        (base.user, base.password) = ("alice", "hunter1")
        let key = try #require(HTTPField.Name("X-Api-Key"))
        let fields: HTTPFields = [.authorization: "Bearer hunter2", .cookie: "id=hunter3", key: "hunter4"]
        let url = try #require(base.url)
        let request = Endpoint.get("", query: ["token": "hunter5"], headers: fields)
        for source in [NetworkResponse.Source.network, .cache] {
            let client = NetworkClient(cache: ResponseCache(directory: directory))
            #expect(try await client.send(URLRoute(url, request)).source == source)
        }
        let files = try stored()
        #expect(files.count == 2)
        for file in files {
            let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            #expect(!text.contains("hunter") && !text.contains("alice") && !file.path.contains("hunter"))
            #expect(try folder.mode("cache/\(file.lastPathComponent)") == 0o600)
        }
    }

    @Test(arguments: [
        "Cookie", "Authorization", "X-Api-Key", "X-Session-Token", "Token", "ApiKey", "X-Auth", "X-Password",
        "X-Session-Id", "X-Any",
    ])
    func `A response is served only for the same field`(field: String) async throws {
        try await run("/ \(field):a 1 | / \(field):a 1c | / \(field):b 2 | / 3 | / \(field): 4")
    }

    @Test func `Fields that are no secrets do not matter`() async throws {
        try await run("/ X-Request-ID:1 Accept:a/1 1 | / X-Request-ID:2 Accept:a/2 1c")
    }

    @Test func `A response to a request with a body is not stored`() async throws {
        // The last number is that of all requests.
        try await run("/ body:a 1 | / body:b 2 | / 3 | else / body:a 4 | only / body:a x | /other 5")
    }

    @Test func `A response is served only for the same credentials`() async throws {
        try await run("/ password:a 1 | / password:a 1c | / password:b 2 | / 3")
        try await run("/u Authorization:a 1 | /u Authorization:a 1c | /u 2")
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

    @Test(arguments: [
        (["Cache-Control: public, max-age=60"], true), (["Cache-Control: max-age=60"], false),
        (["Cache-Control: public, max-age=60", "Vary: Cookie"], false),
        (["Cache-Control: public, max-age=60", "Set-Cookie: id=\u{AD}1"], false),
    ])
    func `A client that keeps cookies stores what is public`(_ headers: [String], _ isStored: Bool) async throws {
        try await run("cookies | / 1 | cookies | / \(isStored ? "1c" : "2")", headers)
    }

    @Test func `What varies by cookies is not served to a client that keeps them`() async throws {
        let fields = ["Cache-Control: public, max-age=60", "Vary: Cookie"]
        try await run("/ 1 | new | / 1c | cookies | / 2", fields)
    }

    @Test(arguments: [0o777, 0o770, 0o702])
    func `A folder that others can write is not used`(mode: Int) async throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: directory.path)
        let cache = ResponseCache(directory: directory)
        #expect("\(try #require(cache.diskProblem))".contains("only this user"))
        // The memory is.
        try await run("/ 1 | / 1c | new | / 2")
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

    @Test("A response without a lifetime has the default one, and is stored for a policy that serves it")
    func lifetime() async throws {
        try await run("/ 1 | / 1c", [], freshness: .infinity)
        try await run("else /other 1 | else /other 1c | /other 2", [])
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
