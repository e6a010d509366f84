import Foundation
import TestSupport
import Testing

/// A server of raw HTTP/2 frames over TLS. It answers each connection's first request with a head, and repeats a frame
/// until the client closes the connection.
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
    var authority: URL { URL(filePath: certificates.path("ca.pem")) }

    /// - Parameter isAnswering: whether the frames come after the head of a response.
    init(repeating frame: Frame, isAnswering: Bool = true) async throws {
        let address = try LoopbackAddress()
        certificates = try await Certificates(address: address.host)
        let script = """
            import socket, ssl, struct, sys, threading
            def frame(kind, flags, stream, payload):
                return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
            def serve(plain):
                connection = context.wrap_socket(plain, server_side=True)
                file = connection.makefile("rb")
                file.read(24)
                connection.sendall(frame(4, 0, 0, b""))
                while True:
                    head = file.read(9)
                    file.read(int.from_bytes(head[:3], "big"))
                    if head[3] == 1: break
                stream = int.from_bytes(head[5:], "big")
                \(isAnswering ? "connection.sendall(frame(1, 4, stream, b'\\x88'))" : "")
                flood = frame(\(frame.rawValue)) * 20000
                print("flood", flush=True)
                while True: connection.sendall(flood)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[3], sys.argv[4])
            context.set_alpn_protocols(["h2"])
            listener = socket.create_server((sys.argv[1], int(sys.argv[2])))
            print("listening", flush=True)
            while True: threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()
            """
        daemon = try Daemon(
            "python3",
            [
                "-c", script, address.host, "\(address.port)", certificates.path("server.pem"),
                certificates.path("server.key"),
            ],
            package: "python3"
        )
        url = try #require(URL(string: "https://\(address.host):\(address.port)"))
        let daemon = daemon
        #expect(await eventually { daemon.output.contains("listening") })
    }

    /// Why connections could not be served.
    var errors: String { daemon.errors }

    /// How many connections have been flooded.
    var floodCount: Int { daemon.output.split(separator: "\n").count { $0 == "flood" } }
}
