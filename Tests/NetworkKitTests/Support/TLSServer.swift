import NetworkKit
import TestSupport

/// A server over TLS in a few lines of Python, with one thread for each connection.
struct TLSServer {
    let certificates: Certificates
    private let address: LoopbackAddress
    private let daemon: Daemon
    let url: URL

    /// Serves each connection by a script. `number` is that of the connection, from 0; `folder` that of the
    /// certificates.
    ///
    /// - Parameters:
    ///   - definitions: functions of the script.
    ///   - protocols: what the server offers, as a list of Python.
    init(
        serving script: String,
        _ definitions: String = "",
        protocols: String = "['http/1.1']",
        at address: LoopbackAddress? = nil,
        _ certificates: Certificates? = nil
    ) async throws {
        self.address = try address ?? LoopbackAddress()
        let host = self.address.host
        self.certificates =
            if let certificates { certificates } else { try await Certificates(address: host) }
        let program = """
            import os, socket, ssl, struct, sys, threading
            host, port, folder = sys.argv[1:]
            \(definitions)
            def serve(plain, number):
                connection = context.wrap_socket(plain, server_side=True)
                \(script.replacing("\n", with: "\n    "))
            number = 0
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder + "/server.pem", folder + "/server.key")
            context.set_alpn_protocols(\(protocols))
            listener = socket.create_server((host, int(port)))
            print("listening", flush=True)
            while True:
                threading.Thread(target=serve, args=[listener.accept()[0], number], daemon=True).start()
                number += 1
            """
        let arguments = [host, "\(self.address.port)", self.certificates.folder.path]
        daemon = try Daemon("python3", ["-u", "-c", program] + arguments, package: "python3")
        url = try #require(URL(string: "https://\(host):\(self.address.port)"))
        let daemon = daemon
        #expect(await daemon.prints("listening"), "\(daemon.errors)")
    }

    /// A client that trusts the server.
    var client: NetworkClient {
        NetworkClient(options: .init { $0.certificateAuthorities = URL(filePath: certificates.path("ca.pem")) })
    }

    /// What the script has printed.
    var output: [String] { daemon.output.split(separator: "\n").map(String.init).filter { $0 != "listening" } }

    /// Why connections could not be served.
    var errors: String { daemon.errors }
}

extension TLSServer {
    /// Serves each connection by raw frames of HTTP/2, and one of HTTP/1.1 by the response "hello". `request()` waits
    /// for the head of a request, prints "request", and returns the stream; `body()` reads to the end of its body and
    /// returns the length; `send(kind, flags, stream, payload)` sends a frame.
    static func frames(_ script: String) async throws -> TLSServer {
        let definitions = """
            def frame(kind, flags, stream, payload):
                return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload
            """
        let start = """
            file = connection.makefile("rb")
            if connection.selected_alpn_protocol() is None:
                lines = iter(file.readline, b"\\r\\n")
                count = [line.split()[1] for line in lines if line.lower().startswith(b"content-length")]
                print("request", number, "body", len(file.read(int(count[0]))))
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
                print("request", number)
                return stream
            def body():
                count, flags = 0, 0
                while not flags & 1:
                    flags, _, payload = read(0)
                    count += len(payload)
                return count
            send(4, 0, 0, b"")

            """
        return try await TLSServer(serving: start + script, definitions, protocols: "['h2']")
    }
}
