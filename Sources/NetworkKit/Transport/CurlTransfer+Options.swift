import CIndicatorCurl
import Foundation
import HTTPTypes

/// What libcurl is asked for.
extension CurlTransfer {
    private var request: NetworkRequest { transfer.request }
    private var isEncrypted: Bool { transfer.origin.first == "https" }

    /// Sets the options.
    ///
    /// - Parameter proxyAuthorities: the certificates that are trusted for a proxy instead of the system's.
    /// - Returns: why the transfer cannot begin.
    func setOptions(proxyAuthorities: URL?) -> String? {
        setTarget()
        setMethod()
        setCallbacks()
        return trust.apply(to: handle, origin: transfer.origin, proxyAuthorities: proxyAuthorities)
    }

    private func setTarget() {
        curl_kit_set_long(handle, CURLOPT_NOSIGNAL, 1)
        // Otherwise, the end of a transfer would wait for the look-up of its host's name, and all others with it.
        curl_kit_set_long(handle, CURLOPT_QUICK_EXIT, 1)
        curl_kit_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
        curl_kit_set_string(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        curl_kit_set_string(handle, CURLOPT_URL, request.url.absoluteString)
        // Otherwise libcurl would remove dot segments from the route's path.
        curl_kit_set_long(handle, CURLOPT_PATH_AS_IS, 1)
        curl_kit_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        curl_kit_set_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        curl_kit_set_string(handle, CURLOPT_USERAGENT, "NetworkKit")
        if request.headers[.acceptEncoding] == nil {
            // Not `br` and `zstd`: libcurl decompresses all that it has read, and keeps it during a pause, up to 64
            // MiB. Of gzip, its default buffer of 16 KiB becomes 16 MiB at most; of those, any number.
            curl_kit_set_string(handle, CURLOPT_ACCEPT_ENCODING, "gzip, deflate")
        } else {
            curl_kit_set_long(handle, CURLOPT_BUFFERSIZE, 1 << 17)
        }
        if let credentials = request.credentials {
            curl_kit_set_string(handle, CURLOPT_USERNAME, credentials.user)
            curl_kit_set_string(handle, CURLOPT_PASSWORD, credentials.password)
            curl_kit_set_long(handle, CURLOPT_HTTPAUTH, credentials.scheme.bits(isEncrypted: isEncrypted))
        }
        for field in request.headers.combined {
            let line = field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
            headerList = curl_slist_append(headerList, line)
        }
        // Otherwise libcurl waits a second for servers that do not support it.
        if request.headers[.expect] == nil { headerList = curl_slist_append(headerList, "Expect:") }
        curl_kit_set_pointer(handle, CURLOPT_HTTPHEADER, headerList)
    }

    private func setMethod() {
        let method = request.method
        if method == .head, transfer.body == nil { curl_kit_set_long(handle, CURLOPT_NOBODY, 1) }
        if transfer.body != nil || [.post, .put, .patch].contains(method) {
            let count = transfer.body.map { $0.count ?? -1 } ?? 0
            curl_kit_set_long(handle, CURLOPT_UPLOAD, 1)
            curl_kit_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(count))
            if count < 0 || count > 1 << 16 { curl_kit_set_long(handle, CURLOPT_UPLOAD_BUFFERSIZE, 1 << 17) }
        }
        curl_kit_set_string(handle, CURLOPT_CUSTOMREQUEST, method.rawValue)
        // When a connection that is used again ends before the response, libcurl repeats the request, which the server
        // may have processed (RFC 9110 §9.2.2). It does not repeat the first request of a connection.
        if !method.isIdempotent { curl_kit_set_long(handle, CURLOPT_FRESH_CONNECT, 1) }
    }

    private func setCallbacks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_XFERINFODATA]
        {
            curl_kit_set_pointer(handle, option, context)
        }
        curl_kit_set_bytes_function(handle, CURLOPT_HEADERFUNCTION) { bytes, _, count, context in
            CurlTransfer.from(context)?.receivedHeader(UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
        }
        curl_kit_set_bytes_function(handle, CURLOPT_WRITEFUNCTION) { bytes, _, count, context in
            CurlTransfer.from(context)?.receivedBody(UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
        }
        curl_kit_set_bytes_function(handle, CURLOPT_READFUNCTION) { bytes, size, count, context in
            let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
            return CurlTransfer.from(context)?.send(into: buffer) ?? Int(CURL_READFUNC_ABORT)
        }
        curl_kit_set_seek_function(handle) { context, offset, origin in
            guard offset == 0, origin == SEEK_SET, let curl = CurlTransfer.from(context) else {
                return CURL_SEEKFUNC_CANTSEEK
            }
            curl.rewind()
            return CURL_SEEKFUNC_OK
        }
        curl_kit_set_progress_function(handle) { context, _, received, _, sent in
            CurlTransfer.from(context)?.progressed(sent: Int64(sent), received: Int64(received))
            return 0
        }
        curl_kit_set_long(handle, CURLOPT_NOPROGRESS, 0)
        loop.watch.open(with: handle)
    }
}

extension Credentials.Scheme {
    fileprivate func bits(isEncrypted: Bool) -> Int {
        switch self {
        case .any: Int(CURLAUTH_DIGEST_BITS | (isEncrypted ? CURLAUTH_BASIC_BITS : 0))
        case .basic: Int(CURLAUTH_BASIC_BITS)
        case .digest: Int(CURLAUTH_DIGEST_BITS)
        }
    }
}
