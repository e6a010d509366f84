public import Foundation
public import HTTPTypes

/// A request as it is sent, without its body: what an interceptor may change.
public struct NetworkRequest: Sendable {
    /// Where it goes. Names and passwords in a route's URL are in ``credentials`` instead.
    public var url: URL
    /// The method.
    public var method: HTTPRequest.Method
    /// The header fields; ``setHeader(_:_:isSensitive:)`` changes them.
    public private(set) var headers = HTTPFields()
    /// Who asks.
    public var credentials: Credentials?
    /// How long nothing may happen before the request fails, in seconds; `.infinity`: for ever. Default 60.
    public var timeout: Double = 60
    /// How long an attempt may take in all, redirects included, in seconds. Default `.infinity`.
    public var timeLimit: Double = .infinity
    /// How far the response cache may answer.
    public var cachePolicy = ResponseCache.Policy.useProtocolCachePolicy
    private var sensitiveNames: Set<HTTPField.Name> = []
    private var problem: NetworkError?

    init(url: URL, method: HTTPRequest.Method) {
        self.url = url
        self.method = method
    }

    /// Sets a header field, or removes it.
    ///
    /// A name or value that no field can have (RFC 9110 §5.1, §5.5), such as one with a line break, is an error of the
    /// request.
    ///
    /// - Parameters:
    ///   - name: the field's name.
    ///   - value: its value; `nil` to remove it.
    ///   - isSensitive: whether the value is a secret. It is not sent to another origin, not described, and what it got
    ///     is not given to others out of the cache. `Authorization`, `Proxy-Authorization`, `Cookie` and names that end
    ///     in `-Key`, `-Token` or `-Secret` always are.
    public mutating func setHeader(_ name: String, _ value: String?, isSensitive: Bool = false) {
        guard let fieldName = HTTPField.Name(name) else {
            problem = .invalidRequest("'\(name)' is not the name of a header field (RFC 9110 §5.1)")
            return
        }
        guard !Self.ownNames.contains(fieldName) else {
            problem = .invalidRequest("the header field '\(name)' is set by the client itself")
            return
        }
        let value = value?.trimmingCharacters(in: .whitespaces)
        if let value, !HTTPField.isValidValue(value) {
            problem = .invalidRequest("the header field '\(name)' has a control character in its value (RFC 9110 §5.5)")
            return
        }
        headers[fieldName] = value
        if isSensitive { sensitiveNames.insert(fieldName) }
    }

    /// What says how long the body is: a wrong one would begin another request.
    private static let ownNames: Set<HTTPField.Name> = [.contentLength, .transferEncoding]

    func isSensitive(_ name: HTTPField.Name) -> Bool {
        let text = name.canonicalName
        return sensitiveNames.contains(name) || [.authorization, .proxyAuthorization, .cookie].contains(name)
            || ["-key", "-token", "-secret"].contains { text.hasSuffix($0) }
    }

    /// Checks what a route or an interceptor has made of the request.
    func checked() throws(NetworkError) -> Self {
        if let problem { throw problem }
        var copy = self
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true),
            ["http", "https"].contains(parts.scheme?.lowercased()), parts.host?.isEmpty == false
        else {
            throw .invalidRequest("'\(url.withoutSecrets)' is not an http or https URL with a host")
        }
        if let user = parts.user {
            copy.credentials = credentials ?? Credentials(user: user, password: parts.password ?? "")
        }
        (parts.user, parts.password, parts.fragment) = (nil, nil, nil)
        guard let url = parts.url else {
            throw .invalidRequest("'\(url.withoutSecrets)' is not an http or https URL with a host")
        }
        copy.url = url
        for (name, seconds) in [("timeout", timeout), ("time limit", timeLimit)] where !(seconds > 0) {
            throw .invalidRequest("the \(name) must be a positive number of seconds, not \(seconds)")
        }
        return copy
    }
}

extension Double {
    /// This many seconds; `nil` for what is longer than a lifetime.
    var limit: Duration? { self < 1e10 ? .seconds(self) : nil }
}

/// A name and a password, for the origin that a request goes to and for no other.
public struct Credentials: Sendable {
    /// How they are shown to the server.
    public enum Scheme: Sendable {
        /// The best that the server asks for of Digest and Basic: a request more when it asks.
        case any
        /// `Basic` (RFC 7617), at once. To be used over TLS only.
        case basic
        /// `Digest` (RFC 7616).
        case digest
    }

    /// The name.
    public var user: String
    /// The password.
    public var password: String
    /// How they are shown to the server.
    public var scheme: Scheme

    /// Makes credentials.
    public init(user: String, password: String, scheme: Scheme = .any) {
        self.user = user
        self.password = password
        self.scheme = scheme
    }
}

extension Credentials: CustomStringConvertible, CustomReflectable {
    /// The name alone.
    public var description: String { "\(user.withoutControls):…" }
    /// The name alone.
    public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

extension NetworkRequest: CustomStringConvertible, CustomReflectable {
    /// Method and URL, without secrets.
    public var description: String { "\(method.rawValue) \(url.withoutSecrets)" }
    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }

    func curlDescription(_ body: RequestBody?) -> String {
        var words = ["curl", "--location"]
        if method == .head { words.append("--head") } else { words += ["--request", method.rawValue] }
        for field in headers {
            words += ["--header", "\(field.name.rawName): \(isSensitive(field.name) ? "…" : field.value)"]
        }
        if let credentials {
            let scheme =
                switch credentials.scheme {
                case .any: "--anyauth"
                case .basic: "--basic"
                case .digest: "--digest"
                }
            words += [scheme, "--user", "\(credentials.user):…"]
        }
        if body != nil { words += ["--data-binary", "@body"] }
        return (words + [url.withoutSecretValues]).map(\.quotedForShell).joined(separator: " ")
    }
}

extension URL {
    /// The URL with those values in its query left out whose names sound like secrets.
    fileprivate var withoutSecretValues: String {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return withoutSecrets }
        parts.percentEncodedQueryItems = parts.percentEncodedQueryItems?.map { item in
            let name = item.name.lowercased()
            let isSecret = ["key", "token", "secret", "pass", "pwd", "auth", "sig", "session", "code"].contains {
                name.contains($0)
            }
            return isSecret ? URLQueryItem(name: item.name, value: "%E2%80%A6") : item
        }
        return parts.string ?? withoutSecrets
    }
}

extension String {
    fileprivate var quotedForShell: String {
        let text = withoutControls
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                byte.isASCIILetterOrDigit || "-._/:=@%+,".utf8.contains(byte)
            }
        return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
    }
}

extension UInt8 {
    fileprivate var isASCIILetterOrDigit: Bool {
        Unicode.Scalar(self).properties.isAlphabetic && self < 0x80 || (0x30...0x39).contains(self)
    }
}
