import BackendConfiguration
import IndicatorCore
import Foundation

/// The broker, the credentials and the topics of an ``MQTTBackend``.
public struct MQTTSettings: Sendable, Hashable {
    /// A version of MQTT.
    public enum ProtocolVersion: String, Sendable, Hashable, CaseIterable {
        /// MQTT 5, or MQTT 3.1.1 if the broker rejects MQTT 5 or closes the connection before it answers.
        case automatic = "auto"
        /// MQTT 5.
        case version5 = "5"
        /// MQTT 3.1.1, in which nothing expires, and a broker does not report what it forbids.
        case version311 = "3.1.1"
    }

    /// The addresses of the broker or of the nodes of its cluster: one or more. A connection uses the first one that
    /// accepts the client, beginning with a random one; all addresses of a name are tried.
    public var urls: [MQTTURL]
    /// The version of MQTT. Default: ``ProtocolVersion/automatic``.
    public var protocolVersion = ProtocolVersion.automatic
    /// The user name; `nil` for none.
    public var username: String?
    /// The password; `nil` for none.
    public var password: MQTTPassword?
    /// The file with the certificates of trusted authorities, in PEM. Default: the system's.
    public var caFile: String?
    /// The file with the client's certificate, in PEM.
    public var certificateFile: String?
    /// The file with the client's private key, in PEM, without a passphrase.
    public var keyFile: String?
    /// The prefix of all topics. Default: `indicator/1`.
    public var topic = standardTopic
    /// The name of this machine in topics. Default: the system's host name.
    public var host = Self.systemHost
    /// The shortest time between two messages; hiding does not wait. Default: half a second.
    public var interval = Duration.milliseconds(500)
    /// The longest silence of a connection, 5 s or more. The broker reports a client as dead after 1.5 times as long.
    /// Default: 15 s.
    public var keepAlive = Duration.seconds(15)
    /// After how long an unchanged state is published again, a second or more. A watcher treats the process as lost
    /// after 1.5 times as long. Default: `nil`, which is ten minutes with MQTT 5 and a minute with MQTT 3.1.1.
    public var refresh: Duration?

    /// The default prefix of all topics.
    package static let standardTopic = "indicator/1"

    /// Creates default settings for a broker.
    public init(url: MQTTURL) {
        urls = [url]
    }

    /// What messages call the broker.
    package var brokerName: String { urls.map(\.description).joined(separator: ", ") }

    private static var systemHost: String {
        var name = [CChar](repeating: 0, count: 256)
        gethostname(&name, name.count - 1)
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

/// The address of an MQTT broker: `mqtt://host:1883`, or with TLS `mqtts://host:8883`.
public struct MQTTURL: Sendable, Hashable, CustomStringConvertible {
    /// The host name or address.
    package var host: String
    /// The TCP port.
    package var port: Int
    /// Whether to use TLS and verify the broker's certificate.
    package var usesTLS: Bool

    /// The address of a broker without TLS.
    init(host: String, port: Int) { (self.host, self.port, usesTLS) = (host, port, false) }

    /// Parses an address. Throws if it is invalid or contains a user name or password.
    public init(_ text: String) throws {
        // The text may contain a password: no error quotes it.
        guard let separator = text.range(of: "://"), ["mqtt", "mqtts"].contains(text[..<separator.lowerBound]) else {
            throw MQTTError.invalidURL(reason: "it must begin with mqtt:// or mqtts://")
        }
        usesTLS = text.hasPrefix("mqtts")
        var rest = text[separator.upperBound...]
        if rest.hasSuffix("/") { rest.removeLast() }
        guard !rest.contains("@") else {
            throw MQTTError.invalidURL(
                reason: "it must not contain a user name or password, which have their own settings"
            )
        }
        // Not a regular expression: few apps run another one, and its libraries occupy 0.8 MiB.
        var name = rest
        var digits: Substring?
        // The last colon, unless it is in the brackets of an IPv6 address.
        if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
            (name, digits) = (rest[..<colon], rest[rest.index(after: colon)...])
        }
        let isBracketed = name.hasPrefix("[") && name.hasSuffix("]")
        if isBracketed { name = name.dropFirst().dropLast() }
        let isValid = !name.contains { "[]/?#".contains($0) || $0.isWhitespace || !isBracketed && $0 == ":" }
        let isNumber = digits?.allSatisfy { ("0"..."9").contains($0) } ?? true
        // For OpenSSL, a name that begins with a dot stands for all below it. The longest has 255 bytes (RFC 1035).
        let isName = !name.isEmpty && !name.hasPrefix(".") && name.utf8.count < 256
        guard isValid, isNumber, isName, let port = digits.map({ Int($0) }) ?? (usesTLS ? 8883 : 1883) else {
            throw MQTTError.invalidURL(reason: "it must have a host, and may have a port, but nothing else")
        }
        (host, self.port) = (String(name), port)
        guard (1...65535).contains(port) else { throw MQTTError.invalidURL(reason: "the port must be from 1 to 65535") }
    }

    /// The address as ``init(_:)`` reads it.
    public var description: String {
        "\(usesTLS ? "mqtts" : "mqtt")://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }
}

/// A password, or the file that contains it. No description shows it.
public enum MQTTPassword: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
    /// The password itself.
    case text(String)
    /// The first line of a file, which is read for every connection. An empty first line is an error.
    case file(String)

    /// The password.
    func read() throws(MQTTError) -> String {
        switch self {
        case .text(let text): return text
        case .file(let path):
            let text: String
            do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
                throw .unreadableFile(path: path, reason: "it does not exist, may not be read, or is not UTF-8")
            }
            let line = text.prefix { !$0.isNewline }
            guard (1..<65536).contains(line.utf8.count) else {
                throw .unreadableFile(path: path, reason: "its first line, the password, is empty or too long")
            }
            return String(line)
        }
    }

    /// Without the password.
    public var description: String {
        if case .file(let path) = self { "the first line of \(path)" } else { "(hidden)" }
    }

    /// Without the password.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why an MQTT broker cannot be used.
package enum MQTTError: BackendProblem, Sendable, Hashable {
    /// The text is not the address of a broker.
    case invalidURL(reason: String)
    /// The prefix of all topics is invalid.
    case invalidTopic(String)
    /// A file of the settings cannot be used.
    case unreadableFile(path: String, reason: String)
    /// A certificate was not accepted, or the port does not use TLS.
    case tls(reason: String)
    /// The broker cannot be reached, or does not answer.
    case unreachable(String, reason: String)
    /// The user name contains a character that MQTT does not allow.
    case invalidUsername
    /// The broker has rejected a connection, a message or a subscription: because this client is not allowed to, or for
    /// another reason.
    case refused(MQTTURL, what: String, reason: String, isForbidden: Bool)
    /// The broker does not speak MQTT 5, or 3.1.1.
    case wrongVersion(MQTTURL, isVersion5: Bool)
    /// The connection was lost.
    case lost(String, reason: String)
    /// The process has reached its limit of threads, descriptors or memory.
    case noResources(reason: String)
    /// libmosquitto cannot be loaded.
    case noLibrary(reason: String)

    /// What was wrong.
    package var reason: String {
        switch self {
        case .invalidURL(let reason): "the address of the MQTT broker is invalid: \(reason)"
        case .invalidTopic(let topic): "'\(QuotedText.shortened(topic))' is not a valid prefix of topics"
        case .unreadableFile(let path, let reason): "'\(QuotedText.escaped(path))' cannot be used: \(reason)"
        case .invalidUsername: "the user name contains a control character, which MQTT does not allow"
        case .tls(let reason): "TLS failed: \(reason)"
        case .unreachable(let url, let reason): "the broker at \(url) cannot be reached: \(reason)"
        case .refused(let url, let what, let reason, _): "the broker at \(url) rejected \(what): \(reason)"
        case .wrongVersion(let url, let isVersion5):
            isVersion5
                ? "the broker at \(url) speaks MQTT 3.1.1, not 5" : "the broker at \(url) does not speak MQTT 3.1.1"
        case .lost(let url, let reason): "the connection to the broker at \(url) was lost: \(reason)"
        case .noResources(let reason): "a connection to a broker could not be created: \(reason)"
        case .noLibrary(let reason): "libmosquitto cannot be loaded: \(reason)"
        }
    }

    /// What to do about it; `nil` if the user cannot do anything.
    package var help: String? {
        switch self {
        case .invalidURL: "use an address such as mqtt://broker.example:1883 or mqtts://broker.example:8883"
        case .invalidTopic: "use a prefix such as indicator/1, without '+', '#', '.' and spaces"
        case .unreadableFile: "check the path, the content, and that this user may read the file"
        case .invalidUsername: "check the user name"
        case .tls: "check the address and the port, and the files of the authority, the certificate and the key"
        case .unreachable, .lost: "check that the broker runs and can be reached from this machine"
        case .wrongVersion(_, let isVersion5): "set 'protocol' to auto or \(isVersion5 ? "3.1.1" : "5")"
        case .refused(_, _, _, isForbidden: true):
            "check the user name and password, and what the broker's ACL allows"
        case .refused: "check the broker's settings and limits; it must allow retained messages and a will"
        case .noResources: "raise the limits on descriptors (ulimit -n) or threads (ulimit -u)"
        case .noLibrary: "install it (package libmosquitto1)"
        }
    }

    /// What was wrong, and what to do about it.
    package var description: String { help.map { "\(reason); \($0)" } ?? reason }
}
