import CIndicatorCurl
public import Foundation

/// How a host proves its identity, and the client its own: see ``NetworkClient/Options/trust``.
public struct HostTrust: Sendable {
    /// A PEM file of certificates that are trusted for the host instead of the client's or the system's.
    public var certificateAuthorities: URL?
    /// The accepted public keys: the base64 form of their SHA-256 hashes, also with `sha256/` or `sha256//` before
    /// it. One of them must be that of the server's certificate, which is verified, too. Empty: every key. Each
    /// connection is checked when it is established. <doc:SendingRequests> has the command that prints the hash.
    public var pinnedKeys: [String] = []
    /// A PEM file with the client's certificate, followed by intermediate ones.
    public var clientCertificate: URL?
    /// A PEM file with the certificate's private key; `nil`: in the same file.
    public var clientKey: URL?
    /// The passphrase of the private key.
    public var clientKeyPassphrase: String?

    /// Creates the default: the client's or the system's authorities, every key, no client certificate.
    public init(
        certificateAuthorities: URL? = nil,
        pinnedKeys: [String] = [],
        clientCertificate: URL? = nil,
        clientKey: URL? = nil,
        clientKeyPassphrase: String? = nil
    ) {
        (self.certificateAuthorities, self.pinnedKeys) = (certificateAuthorities, pinnedKeys)
        (self.clientCertificate, self.clientKey) = (clientCertificate, clientKey)
        self.clientKeyPassphrase = clientKeyPassphrase
    }
}

extension HostTrust: CustomReflectable {
    /// The keys, without the passphrase.
    public var customMirror: Mirror { Mirror(self, children: ["pinnedKeys": pinnedKeys], displayStyle: .struct) }

    /// Sets the options of a transfer. Returns what is wrong.
    func apply(to handle: UnsafeMutableRawPointer, origin: [String], proxyAuthorities: String?) -> String? {
        func set(_ option: CURLoption, _ value: String?, _ what: String) -> String? {
            guard let value, curl_kit_set_string(handle, option, value) != CURLE_OK else { return nil }
            return "libcurl's TLS library does not support \(what)"
        }
        /// Without the folder, libcurl would look for other authorities in the system's, which is its default.
        func trust(_ file: String?, _ fileOption: CURLoption, _ folderOption: CURLoption) -> String? {
            set(fileOption, file, "a file of certificate authorities")
                ?? set(folderOption, file.map { _ in "/dev/null" }, "a file of certificate authorities")
        }
        if let problem = trust(proxyAuthorities, CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH) { return problem }
        guard origin.first == "https" else {
            let mustBeSecure = !pinnedKeys.isEmpty || clientCertificate != nil
            return mustBeSecure ? "'\(origin[1])' has pinned keys or a client certificate; use an https URL" : nil
        }
        for key in pinnedKeys {
            // The hash itself may begin with slashes.
            guard ["", "sha256/", "sha256//"].contains(key.dropLast(44)),
                Data(base64Encoded: String(key.suffix(44)))?.count == 32
            else {
                return "the pinned key '\(key.prefix(60))' of '\(origin[1])' is not the base64 form of a SHA-256 hash"
            }
        }
        let pins = pinnedKeys.map { "sha256//\($0.suffix(44))" }.joined(separator: ";")
        return trust(certificateAuthorities?.path, CURLOPT_CAINFO, CURLOPT_CAPATH)
            ?? set(CURLOPT_PINNEDPUBLICKEY, pins.isEmpty ? nil : pins, "pinned keys")
            ?? set(CURLOPT_SSLCERT, clientCertificate?.path, "client certificates")
            ?? set(CURLOPT_SSLKEY, clientCertificate == nil ? nil : clientKey?.path, "client certificates")
            ?? set(CURLOPT_KEYPASSWD, clientCertificate == nil ? nil : clientKeyPassphrase, "client certificates")
    }

    /// What did not fit, as far as libcurl's own message does not say so.
    func explanation(of code: CURLcode, _ text: String, host: String) -> String? {
        switch code {
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            "the public key of '\(host)' is not one of those that are pinned: \(pinnedKeys.joined(separator: ", "))"
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE:
            certificateAuthorities.map { "\(text); the authorities of '\(host)' are those in '\($0.path)'" }
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_SSL_CONNECT_ERROR:
            !text.contains(" alert ")
                ? nil
                : clientCertificate.map { "\(text): '\(host)' may have rejected the certificate in '\($0.path)'" }
                    ?? "\(text): '\(host)' may require a client certificate; set the host's trust"
        default: nil
        }
    }
}
