#if MQTT
import Foundation
import IndicatorThreads

/// Serves a text at `/metrics` over HTTP, to one client after the other.
final class MetricsServer: Sendable {
    /// An IPv4 address, or an IPv6 address in brackets, and a port.
    struct Address: Sendable, CustomStringConvertible {
        var host: String
        var port: Int

        init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
                (1...65535).contains(port)
            else { return nil }
            var host = text[..<colon]
            if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
            guard !host.isEmpty else { return nil }
            (self.host, self.port) = (String(host), port)
        }

        var description: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
    }

    /// Why the address cannot be used.
    struct Problem: Error, CustomStringConvertible {
        var description: String
    }

    /// How long a client may take to send its request or to read the answer.
    // Not a `timeval`: which module has its members depends on what the compiler sees first.
    private static let limit = (seconds: 5, microseconds: 0)

    /// Begins to serve.
    ///
    /// - Parameter text: makes the text for a request, on the server's thread.
    init(_ address: Address, _ text: @escaping @Sendable () -> String) throws {
        let descriptor = try Self.listen(on: address)
        let isStarted = ThreadStarter.start(named: "ind-metrics") {
            while true {
                let client = accept(descriptor, nil, nil)
                if client >= 0 {
                    Self.serve(client, text)
                    close(client)
                } else if errno != EINTR, errno != ECONNABORTED {
                    // Out of descriptors or memory.
                    usleep(100_000)
                }
            }
        }
        if !isStarted { throw Problem(description: "could not create a thread; raise the limit (ulimit -u)") }
    }

    private static func listen(on address: Address) throws -> Int32 {
        var hints = addrinfo()
        (hints.ai_flags, hints.ai_socktype) = (AI_PASSIVE | AI_NUMERICHOST, Int32(SOCK_STREAM.rawValue))
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(address.host, "\(address.port)", &hints, &first) == 0, let found = first?.pointee else {
            throw Problem(description: "'\(address.host)' is not an IP address, which --prometheus needs")
        }
        defer { freeaddrinfo(first) }
        let descriptor = socket(found.ai_family, found.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
        guard descriptor >= 0, bind(descriptor, found.ai_addr, found.ai_addrlen) == 0,
            Foundation.listen(descriptor, 16) == 0
        else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 { close(descriptor) }
            throw Problem(
                description: "cannot listen on \(address): \(reason); choose another address with --prometheus"
            )
        }
        return descriptor
    }

    private static func serve(_ client: Int32, _ text: () -> String) {
        var limit = limit
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(client, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
        }
        var request: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        let end = ContinuousClock.now + .seconds(5)
        while request.count < 16384, !String(decoding: request, as: UTF8.self).contains("\r\n\r\n") {
            let count = recv(client, &buffer, buffer.count, 0)
            guard count > 0, .now < end else { return }
            request += buffer[..<count]
        }
        let line = String(decoding: request.prefix { $0 != 13 }, as: UTF8.self).split(separator: " ")
        let path = line.dropFirst().first?.prefix { $0 != "?" }
        var status = "200 OK"
        var body = ""
        switch (line.first, path) {
        case ("GET", "/metrics"), ("HEAD", "/metrics"): body = text()
        case ("GET", _), ("HEAD", _): (status, body) = ("404 Not Found", "metrics are at /metrics\n")
        default: (status, body) = ("405 Method Not Allowed", "use GET\n")
        }
        let head = """
            HTTP/1.1 \(status)\r
            Content-Type: text/plain; version=0.0.4; charset=utf-8\r
            Content-Length: \(body.utf8.count)\r
            Connection: close\r
            \r

            """
        var answer = ArraySlice(Array((head + (line.first == "HEAD" ? "" : body)).utf8))
        while !answer.isEmpty {
            let count = answer.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0, .now < end else { return }
            answer = answer.dropFirst(count)
        }
    }
}
#endif
