import CIndicatorCurl
public import Foundation

/// A cookie (RFC 6265) of a client: see ``NetworkClient/cookies()``. Its value is often a secret.
public struct Cookie: RawRepresentable, Hashable, Codable, Sendable {
    /// The cookie as a line of a cookie file in Netscape's format, as `curl --cookie` reads it.
    public let rawValue: String
    /// The name.
    public var name: String { fields[5] }
    /// The value.
    public var value: String { fields[6] }
    /// The host to which the cookie is sent.
    public var domain: String {
        // Which scripts of web pages may see it does not matter here.
        String((fields[0].hasPrefix("#HttpOnly_") ? fields[0].dropFirst(10) : fields[0][...]).drop { $0 == "." })
    }
    /// When it ends; `nil`: with the client.
    public var expires: Date? { Double(fields[4]).flatMap { $0 > 0 ? Date(timeIntervalSince1970: $0) : nil } }

    private let fields: [String]

    /// Reads a line of a cookie file; `nil` if it is none.
    public init?(rawValue: String) {
        self.rawValue = rawValue
        fields = rawValue.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        if fields.count != 7 { return nil }
    }

    /// How many cookies a client keeps at least, and how many libcurl takes of a response.
    static let (maximumCount, responseCount) = (3000, 50)

    /// The last two labels of the domain.
    private var site: String { domain.lowercased().split(separator: ".").suffix(2).joined(separator: ".") }

    /// While no cookie has a date, libcurl looks at all of them for those that have ended, for each request. This one
    /// is sent to no host.
    private static let datedDomain = "network-kit.invalid"
    private static let dated = "\(datedDomain)\tFALSE\t/\tFALSE\t4102444800\tdated\t-"

    /// Adds the cookies of a share to a handle.
    static func use(_ share: UnsafeMutableRawPointer, in handle: UnsafeMutableRawPointer) {
        curl_kit_set_pointer(handle, CURLOPT_SHARE, share)
        curl_kit_set_string(handle, CURLOPT_COOKIEFILE, "")
    }

    /// Calls a function with a handle for the cookies of a share. Adds the dated one.
    static func withHandle<Value>(
        of share: UnsafeMutableRawPointer,
        _ body: (UnsafeMutableRawPointer) -> Value
    ) -> Value {
        guard let handle = curl_easy_init() else { preconditionFailure(CurlLoop.outOfMemory) }
        use(share, in: handle)
        defer {
            change([dated], of: handle)
            curl_easy_cleanup(handle)
        }
        return body(handle)
    }

    /// Removes the oldest cookies of the sites that have most of them. Returns how many are left.
    static func trim(of handle: UnsafeMutableRawPointer) -> Int {
        let sites = Dictionary(grouping: all(of: handle), by: \.site).values
        // By how many later ones their sites have.
        let cookies = sites.flatMap { $0.reversed().enumerated() }.sorted { $0.offset < $1.offset }.map(\.element)
        for cookie in cookies.dropFirst(maximumCount) {
            // libcurl removes one that has expired.
            var fields = cookie.fields
            fields[4] = "1"
            change([fields.joined(separator: "\t")], of: handle)
        }
        return min(cookies.count, maximumCount)
    }

    /// The cookies of a handle.
    static func all(of handle: UnsafeMutableRawPointer) -> [Cookie] {
        let list = curl_kit_cookies(handle)
        defer { curl_slist_free_all(list) }
        var cookies: [Cookie] = []
        var next = list
        while let line = next?.pointee {
            let cookie = line.data.flatMap { Cookie(rawValue: String(cString: $0)) }
            // libcurl, which counts whole seconds, keeps one that has ended until it gets another one.
            if let cookie, cookie.expires.map({ $0.timeIntervalSinceNow > -1 }) ?? true, cookie.domain != datedDomain {
                cookies.append(cookie)
            }
            next = line.next
        }
        return cookies
    }

    /// Adds cookies to those of a handle, or with the line `ALL` removes them (CURLOPT_COOKIELIST).
    static func change(_ lines: [String], of handle: UnsafeMutableRawPointer) {
        for line in lines { curl_kit_set_string(handle, CURLOPT_COOKIELIST, line) }
    }
}

extension Cookie: CustomReflectable {
    /// Name and host, without the value.
    public var customMirror: Mirror { Mirror(self, children: ["name": name, "domain": domain], displayStyle: .struct) }
}
