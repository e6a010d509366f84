import TestSupport

@testable import NetworkKit

/// Requests to a server that numbers its answers, through a cache.
final class CacheScript {
    private final class Clock: Sendable {
        let now = Locked(Date(timeIntervalSinceReferenceDate: 1_000_000))
    }

    private let clock = Clock()
    private let validates = Flag()
    private let capacity: Int
    private let freshness: Double
    private let directory: URL?
    private(set) var cache: ResponseCache
    private var client: NetworkClient
    let server: RawServer

    /// - Parameters:
    ///   - fields: those of each answer, or its status.
    ///   - size: that of each body.
    ///   - capacity: that of the memory, and of the disk.
    init(
        _ fields: [String],
        in directory: URL?,
        size: Int = 10,
        capacity: Int = 1 << 20,
        freshness: Double = 0
    ) throws {
        (self.directory, self.capacity, self.freshness) = (directory, capacity, freshness)
        let status = fields.first.flatMap { $0.first?.isNumber == true ? $0 : nil }
        let fields = fields.filter { $0 != status } + (status == nil ? [] : ["Cache-Control: max-age=60"])
        let count = Counter()
        server = try RawServer.keeping { [validates] request, connection in
            let number = "\(count.next())"
            let validators = ["if-none-match", "if-modified-since"].compactMap { request.headers[$0] }
            if validates.isRaised, fields.contains(where: { field in validators.contains { field.hasSuffix($0) } }) {
                try connection.send("HTTP/1.1 304 Not Modified\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
            } else {
                let text = number + String(repeating: " ", count: size - number.count)
                try connection.respond(status ?? "200 OK", headers: fields, text: text)
            }
        }
        cache = ResponseCache(directory: nil)
        client = NetworkClient()
        renew()
    }

    /// A new client, with another cache in the same folder.
    private func renew(keepsCookies: Bool = false) {
        cache = ResponseCache(
            memoryCapacity: capacity,
            diskCapacity: capacity,
            directory: directory,
            defaultFreshness: freshness
        ) { [clock] in clock.now.withLock(\.self) }
        client = NetworkClient(cache: cache, options: .init { $0.keepsCookies = keepsCookies })
    }

    /// Runs steps, which are separated by `|`:
    ///
    /// - `+59`: seconds pass. `304`: from now on, the server confirms what a request has.
    /// - `new`, `cookies`: a new client with a cache in the same folder; one that keeps cookies.
    /// - A request: `post` or a policy (`only` the cache, the cache or `else` the network, `reload`), the path, and
    ///   fields, a body or a password. At the end its answer: the number, with `c` from the cache, and `r` if the
    ///   server has confirmed it; `x` if it is not in the cache.
    func run(_ script: String, _ sentence: String = "", location: SourceLocation = #_sourceLocation) async throws {
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let words = step.split(separator: " ")
            switch words.first {
            case nil: continue
            case "304": validates.raise()
            case "new", "cookies": renew(keepsCookies: words[0] == "cookies")
            case _ where words[0].hasPrefix("+"): clock.now.withLock { $0 += Double(words[0]) ?? 0 }
            default:
                let answer = try await answer(to: request(words.dropLast()))
                #expect(answer == words[words.count - 1], "\(sentence): \(step)", sourceLocation: location)
            }
        }
    }

    private func request(_ words: [Substring]) throws -> Endpoint {
        let policies: [Substring: CachePolicy] = [
            "only": .returnCacheDataDontLoad, "else": .returnCacheDataElseLoad, "reload": .reloadIgnoringLocalCacheData,
        ]
        let path = words.first { $0.hasPrefix("/") }?.dropFirst() ?? ""
        var request = Endpoint(words[0] == "post" ? .post : .get, RoutePath(stringLiteral: String(path)))
        request.cachePolicy = policies[words[0]] ?? .useProtocolCachePolicy
        request.validation = .all
        for word in words {
            let pair = word.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
            switch pair[0] {
            case _ where pair.count < 2: continue
            case "body": request.body = .data(Data(pair[1].utf8))
            case "password": request.credentials = Credentials(user: "u", password: pair[1], isBasic: true)
            default: request.headers[try #require(HTTPField.Name(pair[0]))] = pair[1]
            }
        }
        return request
    }

    private func answer(to request: Endpoint) async throws -> String {
        do {
            let response = try await client.send(route(server, request))
            let source = [NetworkResponse.Source.cache: "c", .revalidatedCache: "r"][response.source] ?? ""
            return try response.string().trimmingCharacters(in: .whitespaces) + source
        } catch let error where "\(error)".contains("not in the cache") { return "x" }
    }
}
