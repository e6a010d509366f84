import CIndicatorCurl
import Foundation
import HTTPTypes

/// What libcurl is asked for.
extension CurlTransfer {
    private var request: NetworkRequest { transfer.request }

    /// Sets the options. Returns why the transfer cannot begin.
    func setOptions(proxyAuthorities: String?) -> NetworkError? {
        setTarget()
        setCallbacks()
        setMethod()
        setHeaders()
        return trust.apply(to: handle, origin: transfer.origin, proxyAuthorities: proxyAuthorities)
            .map { transfer.failure(.insecure, $0) }
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
        // A download, which has its own.
        if request.headers[.acceptEncoding] != nil { curl_kit_set_long(handle, CURLOPT_BUFFERSIZE, 1 << 17) }
        if let credentials = request.credentials {
            curl_kit_set_string(handle, CURLOPT_USERNAME, credentials.user)
            curl_kit_set_string(handle, CURLOPT_PASSWORD, credentials.password)
            let basic = credentials.isBasic || transfer.origin.first == "https" ? CURLAUTH_BASIC_BITS : 0
            curl_kit_set_long(handle, CURLOPT_HTTPAUTH, Int(basic | (credentials.isBasic ? 0 : CURLAUTH_DIGEST_BITS)))
        }
    }

    private func setHeaders() {
        var lines: [String] = []
        // libcurl adds its own cookies to the field.
        curl_kit_set_string(handle, CURLOPT_COOKIE, request.headers[.cookie])
        for field in request.headers where field.name != .cookie {
            lines.append(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
        }
        if request.headers[.acceptEncoding] == nil {
            // A part of a compressed body could not be decompressed.
            lines.append(request.decodesBody ? "Accept-Encoding: gzip, deflate" : "Accept-Encoding: identity")
        }
        // Otherwise libcurl would send that of a form.
        if !request.headers.contains(.contentType) { lines.append("Content-Type:") }
        // Otherwise libcurl waits a second for servers that do not support it.
        lines.append("Expect:")
        for line in lines {
            headerList = curl_slist_append(headerList, line)
            precondition(headerList != nil, CurlLoop.outOfMemory)
        }
        curl_kit_set_pointer(handle, CURLOPT_HTTPHEADER, headerList)
    }

    /// Whether it has a body, perhaps an empty one.
    private var hasBody: Bool { transfer.body != nil || [.post, .put, .patch].contains(request.method) }

    /// Whether libcurl first sends the request with an empty body, and sends it again with its own when the server
    /// demands authentication, or no such thing.
    var isNegotiating: Bool { hasBody && request.credentials?.isBasic == false }

    private func setMethod() {
        let method = request.method
        if let body = transfer.body, !body.isSmall {
            curl_kit_set_long(handle, CURLOPT_UPLOAD, 1)
            curl_kit_set_offset(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(body.count))
            curl_kit_set_long(handle, CURLOPT_UPLOAD_BUFFERSIZE, 1 << 17)
            // Version 7 loses an HTTP/2 response that arrives while it sends, or waits (curl 986, 10433).
            if CurlLoop.isVersion7 { curl_kit_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) }
        } else if hasBody {
            let bytes = transfer.body?.bytesInMemory ?? Data()
            let code = bytes.withUnsafeBytes { curl_kit_set_body(handle, $0.baseAddress, curl_off_t($0.count)) }
            precondition(code == CURLE_OK, CurlLoop.outOfMemory)
        } else if method == .head {
            curl_kit_set_long(handle, CURLOPT_NOBODY, 1)
        }
        curl_kit_set_string(handle, CURLOPT_CUSTOMREQUEST, method.rawValue)
        if isNegotiating {
            // As libcurl of Debian 12 would do with later requests without credentials on the same connection, too.
            curl_kit_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
            curl_kit_set_long(handle, CURLOPT_FRESH_CONNECT, 1)
            curl_kit_set_long(handle, CURLOPT_FORBID_REUSE, 1)
        }
    }

    private func setCallbacks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        let data = [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_XFERINFODATA, CURLOPT_PREREQDATA]
        for option in data { curl_kit_set_pointer(handle, option, context) }
        curl_kit_set_begin_function(handle) { context, address, _, _, port in
            CurlTransfer.from(context)?.begin(port: port, address: address) == true
                ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
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
        // Each request begins with the start of the body: see ``begin(port:address:)``. Not here: libcurl may call this
        // with the context of another transfer on the connection.
        curl_kit_set_seek_function(handle) { _, offset, origin in
            offset == 0 && origin == SEEK_SET ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_CANTSEEK
        }
        curl_kit_set_progress_function(handle) { context, _, received, _, sent in
            CurlTransfer.from(context)?.progressed(sent: Int64(sent), received: Int64(received))
            return 0
        }
        curl_kit_set_long(handle, CURLOPT_NOPROGRESS, 0)
        loop.watch.open(with: handle)
    }
}
