import CLinux
import Foundation

/// Reads the title of the window that a terminal runs in, for terminals that cannot save it themselves.
///
/// The X server is asked, with four requests of the X protocol (version 11) over its local socket. The terminal is not
/// asked, and the app neither loads a library nor starts a program.
enum XWindowTitle {
    /// The longest title, in bytes.
    private static let limit = 4096

    /// Whether the variables name a window on a display of this machine.
    static func isReadable(in environment: [String: String]) -> Bool { window(in: environment) != nil }

    private static func window(in environment: [String: String]) -> (window: UInt32, display: UInt16)? {
        guard linux_is_privileged() == 0, let window = environment["WINDOWID"].flatMap({ UInt32($0) }), window != 0,
            let display = displayNumber(environment["DISPLAY"] ?? "")
        else { return nil }
        return (window, display)
    }

    /// The title of the window `WINDOWID` on the display `DISPLAY`; `nil` if it cannot be read within a second, such as
    /// over SSH.
    static func read(in environment: [String: String]) -> String? {
        guard let (window, display) = window(in: environment), let connection = Connection(display: display),
            connection.setUp(cookie: cookie(display: display, environment))
        else { return nil }
        // https://specifications.freedesktop.org/wm-spec/latest: the title in UTF-8; WM_NAME is the older one.
        if let name = connection.atom("_NET_WM_NAME"), let title = connection.property(name, of: window) {
            return shown(String(decoding: title, as: UTF8.self))
        }
        let windowName: UInt32 = 39
        guard let title = connection.property(windowName, of: window) else { return nil }
        return shown(String(String.UnicodeScalarView(title.map { Unicode.Scalar($0) })))
    }

    private static func shown(_ title: String) -> String { DisplayText.singleLine(title, limit: limit) }

    /// The number in `:1`, `:1.0` or `unix:1`; other displays are on other machines.
    static func displayNumber(_ display: String) -> UInt16? {
        let parts = display.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "" || parts[0] == "unix" else { return nil }
        return parts[1].split(separator: ".").first.flatMap { UInt16($0) }
    }

    /// The key to a display (MIT-MAGIC-COOKIE-1) in the file of Xau(3); empty if there is none.
    private static func cookie(display: UInt16, _ environment: [String: String]) -> [UInt8] {
        let path = environment["XAUTHORITY"] ?? (environment["HOME"] ?? "") + "/.Xauthority"
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = max(0, Foundation.read(descriptor, &buffer, buffer.count))
        var rest = buffer[..<count]
        var host = [CChar](repeating: 0, count: 256)
        gethostname(&host, host.count - 1)
        func number() -> Int? {
            guard rest.count >= 2 else { return nil }
            defer { rest = rest.dropFirst(2) }
            return Int(rest[rest.startIndex]) << 8 | Int(rest[rest.startIndex + 1])
        }
        func field() -> [UInt8]? {
            guard let count = number(), rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        let local = 256
        let wild = 65_535
        while let family = number(), let address = field(), let shownOn = field(), let name = field(),
            let data = field()
        {
            let isHere =
                family == wild || family == local && address == host.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
            let isDisplay = shownOn.isEmpty || shownOn == Array("\(display)".utf8)
            if isHere, isDisplay, name == Array("MIT-MAGIC-COOKIE-1".utf8) { return data }
        }
        return []
    }
}

/// A connection to an X server, with the requests that are needed here. Numbers are little-endian.
private final class Connection {
    private let descriptor: CInt
    /// When to stop waiting for a server that answers slowly.
    private let deadline = ContinuousClock.now + .seconds(1)

    init?(display: UInt16) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let path = Array("/tmp/.X11-unix/X\(display)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
        descriptor = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        // Of each call. Not a `timeval`: which module has its members depends on what the compiler sees first.
        var limit = (seconds: 0, microseconds: 200_000)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
        }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        if !isConnected { return nil }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Begins the connection ("Connection Setup"). Returns whether the server accepts it.
    func setUp(cookie: [UInt8]) -> Bool {
        let name = cookie.isEmpty ? [] : Array("MIT-MAGIC-COOKIE-1".utf8)
        let littleEndian = UInt8(ascii: "l")
        let request =
            [littleEndian, 0] + bytes(UInt16(11)) + bytes(UInt16(0)) + bytes(UInt16(name.count))
            + bytes(UInt16(cookie.count)) + [0, 0] + padded(name) + padded(cookie)
        guard send(request), let head = receive(8), head[0] == 1 else { return false }
        return receive((Int(head[6]) | Int(head[7]) << 8) * 4) != nil
    }

    /// InternAtom, for a name that exists.
    func atom(_ name: String) -> UInt32? {
        let text = Array(name.utf8)
        let length = UInt16(2 + padded(text).count / 4)
        guard let reply = reply(to: [16, 1] + bytes(length) + bytes(UInt16(text.count)) + [0, 0] + padded(text))
        else { return nil }
        let atom = number(reply, at: 8)
        return atom == 0 ? nil : atom
    }

    /// GetProperty, of any type with units of 8 bits; `nil` if the window has none.
    func property(_ name: UInt32, of window: UInt32) -> [UInt8]? {
        let request = [20, 0] + bytes(UInt16(6)) + bytes(window) + bytes(name)
        guard let reply = reply(to: request + bytes(UInt32(0)) + bytes(UInt32(0)) + bytes(UInt32(1024))) else {
            return nil
        }
        let count = Int(number(reply, at: 16))
        return reply[1] == 8 && 32 + count <= reply.count ? Array(reply[32..<(32 + count)]) : nil
    }

    /// Sends a request and reads its reply; `nil` for an error.
    private func reply(to request: [UInt8]) -> [UInt8]? {
        guard send(request), let head = receive(32), head[0] == 1, number(head, at: 4) <= 4096,
            let rest = receive(Int(number(head, at: 4)) * 4)
        else { return nil }
        return head + rest
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        // The server may have ended: no SIGPIPE.
        Foundation.send(descriptor, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count
    }

    private func receive(_ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var received = 0
        while received < count, ContinuousClock.now < deadline {
            let more = bytes.withUnsafeMutableBytes { buffer in
                recv(descriptor, buffer.baseAddress.map { $0 + received }, count - received, 0)
            }
            guard more > 0 else { return nil }
            received += more
        }
        return received == count ? bytes : nil
    }

    private func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    private func padded(_ bytes: [UInt8]) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
    }

    private func number(_ bytes: [UInt8], at index: Int) -> UInt32 {
        bytes[index..<(index + 4)].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
