import TestSupport

@testable import NetworkKit

@Suite struct NetworkRequestTests {
    private func redirected(from url: String, to location: String, _ names: [String]) throws -> [String] {
        var request = NetworkRequest(url: try #require(URL(string: url)), method: .get)
        for name in names { request.setHeader(name, "hunter2") }
        let head = ResponseHead(url: request.url, status: .found, headers: [.location: location], announcesEnd: true)
        return try #require(try request.redirected(by: head)).request.headers.map(\.name.rawName)
    }

    /// Names under which services take secrets.
    @Test func `Secrets under any name stay at their origin`() throws {
        let secrets = [
            "Authorization", "Cookie", "Proxy-Authorization", "Token", "ApiKey", "X-Auth", "X-Password", "X-Session-Id",
            "X-Session", "Session", "X-Signature", "X-Amz-Security-Token", "X-Vault-Token", "Private-Token", "Api_Key",
            "X-CSRF", "Access-Code", "Referer", "X-User",
        ]
        for target in ["https://other.example/", "http://service.example/", "https://service.example:444/"] {
            #expect(try redirected(from: "https://service.example/", to: target, secrets + ["Accept"]) == ["Accept"])
        }
        #expect(try redirected(from: "https://service.example/", to: "/next", secrets) == secrets)
    }

    @Test func `A field can be marked`() throws {
        var request = NetworkRequest(url: try #require(URL(string: "https://a/")), method: .get)
        request.setHeader("Accept", "secret", isSensitive: true)
        request.setHeader("X-Version", "1", isSensitive: false)
        request.setHeader("Authorization", "secret", isSensitive: false)
        let sensitive = request.headers.filter { request.isSensitive($0.name) }
        #expect(sensitive.map(\.name.rawName) == ["Accept", "Authorization"])
    }
}
