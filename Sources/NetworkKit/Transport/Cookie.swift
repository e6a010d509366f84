import CCurl
public import Foundation

/// A cookie (RFC 6265) of a client: see ``NetworkClient/cookies()``. Its value is often a secret.
public struct Cookie: Hashable, Codable, Sendable {
    /// The name.
    public var name: String
    /// The value.
    public var value: String
    /// The host to which the cookie is sent.
    public var domain: String
    /// Whether it is also sent to the hosts below that one.
    public var includesSubdomains: Bool
    /// The path, and those below it, to which the cookie is sent.
    public var path: String
    /// Whether it is only sent over TLS.
    public var isSecure: Bool
    /// When it ends; `nil`: with the client.
    public var expires: Date?

    /// Creates a cookie.
    public init(
        name: String,
        value: String,
        domain: String,
        includesSubdomains: Bool = false,
        path: String = "/",
        isSecure: Bool = false,
        expires: Date? = nil
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.includesSubdomains = includesSubdomains
        self.path = path
        self.isSecure = isSecure
        self.expires = expires
    }

    /// Reads a line of a cookie file in Netscape's format.
    init?(line: String) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 7 else { return nil }
        // Which scripts of web pages may see it does not matter here.
        let host = fields[0].replacing(#/^#HttpOnly_/#, with: "")
        domain = host.hasPrefix(".") ? String(host.dropFirst()) : host
        includesSubdomains = fields[1] == "TRUE"
        path = fields[2]
        isSecure = fields[3] == "TRUE"
        expires = Double(fields[4]).flatMap { $0 > 0 ? Date(timeIntervalSince1970: $0) : nil }
        name = fields[5]
        value = fields[6]
    }

    /// The cookie as a line of a cookie file; `nil` if it cannot be one.
    var line: String? {
        let fields = [
            (includesSubdomains ? "." : "") + domain, includesSubdomains ? "TRUE" : "FALSE", path,
            isSecure ? "TRUE" : "FALSE",
            // In range also for NaN.
            expires.map { "\(Int64(max(1, min($0.timeIntervalSince1970, 1e11))))" } ?? "0", name, value,
        ]
        let isValid = !name.isEmpty && !domain.isEmpty && fields.allSatisfy { $0 == $0.withoutControls }
        return isValid ? fields.joined(separator: "\t") : nil
    }

    /// Whether it may be sent to a host.
    func isSent(to host: String) -> Bool {
        let domain = domain.lowercased()
        return host == domain || (includesSubdomains && host.hasSuffix(".\(domain)"))
    }

    /// The cookies of a handle.
    static func all(of handle: UnsafeMutableRawPointer) -> [Cookie] {
        let list = curl_kit_cookies(handle)
        defer { curl_slist_free_all(list) }
        var cookies: [Cookie] = []
        var next = list
        while let line = next?.pointee {
            if let cookie = line.data.flatMap({ Cookie(line: String(cString: $0)) }) { cookies.append(cookie) }
            next = line.next
        }
        return cookies
    }

    /// Adds cookies to those of a handle, or with the line `ALL` removes them (CURLOPT_COOKIELIST).
    static func change(_ lines: [String], of handle: UnsafeMutableRawPointer) {
        for line in lines { curl_kit_set_string(handle, CURLOPT_COOKIELIST, line) }
    }
}

extension Cookie: CustomStringConvertible, CustomReflectable {
    /// Name and host, without the value.
    public var description: String { "\(name)=… for \(domain)".withoutControls }
    /// The description only.
    public var customMirror: Mirror { Mirror(self, children: ["cookie": description]) }
}
