import NetworkKit
import TestSupport

@Suite struct EndpointTests {
    private func url(_ base: String, _ request: Endpoint) throws -> String {
        try URLRoute(URL(string: base)!, request).url().absoluteString
    }

    @Test func `Paths are appended`() throws {
        #expect(try url("http://h", .get("")) == "http://h")
        #expect(try url("http://h", .get("a")) == "http://h/a")
        #expect(try url("http://h/", .get("/a/b")) == "http://h/a/b")
        #expect(try url("http://h/api", .get("a")) == "http://h/api/a")
        #expect(try url("http://h/api/?k=1#f", .get("a", query: ["q": "x y"])) == "http://h/api/a?k=1&q=x%20y")
        #expect(try url("http://[::1]:80/a%20b", .get("ü")) == "http://[::1]:80/a%20b/%C3%BC")
    }

    @Test(arguments: [".", ".."]) func `A dot segment is rejected`(value: String) {
        #expect(throws: NetworkError.self) { try url("http://h/api", .get("users/\(value)/posts")) }
    }

    @Test(arguments: ["ftp://h", "file:///etc/passwd", "http:", "relative"])
    func `Only URLs of servers are accepted`(base: String) {
        #expect(throws: NetworkError.self) { try url(base, .get("a")) }
    }
}
