import NetworkKit
import TestSupport

/// A server of raw HTTP/2 frames over TLS.
struct FrameServer {
    /// A frame that is no part of a response, and does not count against a limit of nghttp2.
    enum Frame: String, CaseIterable {
        case emptyData = "0, 0, stream, b''"
        /// A body that consists of padding.
        case paddedData = "0, 8, stream, b'\\0'"
        case priority = "2, 0, stream, bytes(5)"
        case unknown = "200, 0, 0, bytes(100)"
        /// An interim response with status 103.
        case hint = "1, 4, stream, b'\\x08\\x03103'"
    }

    private let certificates: Certificates
    private let daemon: Daemon
    let url: URL

    /// Answers each connection's first request with a head, and repeats a frame until the client closes the connection.
    ///
    /// - Parameter isAnswering: whether the frames come after the head of a response.
    init(repeating frame: Frame, isAnswering: Bool = true) async throws {
        try await self.init(
            serving: """
                stream = request()
                \(isAnswering ? "send(1, 4, stream, b'\\x88')" : "")
                flood = frame(\(frame.rawValue)) * 20000
                print("flood", flush=True)
                while True: connection.sendall(flood)
                """
        )
    }

    /// Serves each connection by a script of Python, one of HTTP/1.1 by the response "hello". `number` is that of the
    /// connection, from 0; `request()` waits for the head of a request, prints "request", and returns the stream;
    /// `body()` reads to the end of its body and returns the length; `send(kind, flags, stream, payload)` sends a
    /// frame.
    init(serving lines: String) async throws {
        let address = try LoopbackAddress()
        certificates = try await Certificates(address: address.host)
        let script = """
            import os, socket, ssl, struct, sys, threading
            def frame(kind, flags, stream, payload):
                return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
            def serve(plain, number):
                connection = context.wrap_socket(plain, server_side=True)
                file = connection.makefile("rb")
                if connection.selected_alpn_protocol() is None:
                    lines = iter(file.readline, b"\\r\\n")
                    count = [line.split()[1] for line in lines if line.lower().startswith(b"content-length")]
                    print("request", number, "body", len(file.read(int(count[0]))), flush=True)
                    return connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello")
                file.read(24)
                def send(*parts): connection.sendall(frame(*parts))
                def read(kind):
                    while True:
                        head = file.read(9)
                        if len(head) < 9: raise SystemExit
                        payload = file.read(int.from_bytes(head[:3], "big"))
                        if head[3] == kind: return head[4], int.from_bytes(head[5:], "big"), payload
                def request():
                    stream = read(1)[1]
                    print("request", number, flush=True)
                    return stream
                def body():
                    count, flags = 0, 0
                    while not flags & 1:
                        flags, _, payload = read(0)
                        count += len(payload)
                    return count
                send(4, 0, 0, b"")
                \(lines.replacing("\n", with: "\n    "))
            number = 0
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[3], sys.argv[4])
            context.set_alpn_protocols(["h2"])
            listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
            print("listening", flush=True)
            while True:
                threading.Thread(target=serve, args=[listener.accept()[0], number], daemon=True).start()
                number += 1
            """
        let files = [certificates.path("server.pem"), certificates.path("server.key")]
        daemon = try Daemon("python3", ["-c", script, address.host, "\(address.port)"] + files, package: "python3")
        url = try #require(URL(string: "https://\(address.host):\(address.port)"))
        let daemon = daemon
        #expect(await daemon.prints("listening"))
    }

    /// A client that trusts the server.
    var client: NetworkClient {
        NetworkClient(options: .init { $0.certificateAuthorities = URL(filePath: certificates.path("ca.pem")) })
    }

    /// What the script has printed.
    var output: [String] { daemon.output.split(separator: "\n").map(String.init).filter { $0 != "listening" } }

    /// Why connections could not be served.
    var errors: String { daemon.errors }

    /// How many connections have been flooded.
    var floodCount: Int { daemon.output.split(separator: "\n").count { $0 == "flood" } }
}
