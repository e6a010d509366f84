import TestSupport

@testable import NetworkKit

/// Requests to a server that numbers its answers, through a cache.
final class CacheScript {
    /// What the script changes.
    private final class State: Sendable {
        let now = Locked(Date(timeIntervalSinceReferenceDate: 1_000_000))
        let validates = Flag()
        let status = Locked("200 OK")
    }

    private let state = State()
    private let capacity: Int
    private let freshness: Double
    private let directory: URL?
    private(set) var cache: ResponseCache
    private var client: NetworkClient
    let server: RawServer

    /// - Parameters:
    ///   - fields: those of each answer.
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
        let count = Counter()
        server = try RawServer.keeping { [state] request, connection in
            let number = "\(count.next())"
            let validators = ["if-none-match", "if-modified-since"].compactMap { request.headers[$0] }
            if state.validates.isRaised,
                fields.contains(where: { field in validators.contains { field.hasSuffix($0) } })
            {
                try connection.send("HTTP/1.1 304 Not Modified\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
            } else {
                let text = number + String(repeating: " ", count: size - number.count)
                try connection.respond(state.status.withLock(\.self), headers: fields, text: text)
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
        ) { [state] in state.now.withLock(\.self) }
        client = NetworkClient(cache: cache, options: .init { $0.keepsCookies = keepsCookies })
    }

    /// Runs steps, which are separated by `|`:
    ///
    /// - `+59`: seconds pass. `304`: from now on, the server confirms what a request has. Another status: it answers
    ///   with it.
    /// - `new`, `cookies`: a new client with a cache in the same folder; one that keeps cookies.
    /// - A request: `post` or a policy (`only` the cache, the cache or `else` the network, `reload`, `revalidate`), the
    ///   path, and fields, a body or a password. At the end its answer: the number, with `c` from the cache, and `r` if
    ///   the server has confirmed it; `x` if it is not in the cache.
    func run(_ script: String, _ sentence: String = "", location: SourceLocation = #_sourceLocation) async throws {
        for step in script.split(whereSeparator: { "|\n".contains($0) }) {
            let words = step.split(separator: " ")
            switch words.first {
            case nil: continue
            case "304": state.validates.raise()
            case "new", "cookies": renew(keepsCookies: words[0] == "cookies")
            case let word? where word.hasPrefix("+"): state.now.withLock { $0 += Double(word) ?? 0 }
            case let word? where Int(word) != nil: state.status.withLock { $0 = "\(word) Status" }
            default:
                let answer = try await answer(to: request(words.dropLast()))
                #expect(answer == words[words.count - 1], "\(sentence): \(step)", sourceLocation: location)
            }
        }
    }

    private func request(_ words: [Substring]) throws -> Endpoint {
        let policies: [Substring: CachePolicy] = [
            "only": .returnCacheDataDontLoad, "else": .returnCacheDataElseLoad, "reload": .reloadIgnoringLocalCacheData,
            "revalidate": .reloadRevalidatingCacheData,
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
