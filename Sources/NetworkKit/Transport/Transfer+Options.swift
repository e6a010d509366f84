import CCurl
import Foundation
import HTTPTypes

/// What libcurl is asked for, on the loop's thread.
extension Transfer {
    /// Sets the options.
    ///
    /// - Returns: why the transfer cannot begin.
    func begin(
        with handle: UnsafeMutableRawPointer,
        cookies: UnsafeMutableRawPointer?,
        trust: HostTrust
    ) -> String? {
        self.handle = handle
        self.trust = trust
        errorText.pointee = 0
        setTarget(handle)
        setMethod(handle)
        setCallbacks(handle)
        if let cookies {
            curl_kit_set_pointer(handle, CURLOPT_SHARE, cookies)
            curl_kit_set_string(handle, CURLOPT_COOKIEFILE, "")
        }
        // The sent head shows whether libcurl uses cookies or HTTP/2. It uses HTTP/2 over TLS only.
        if cookies != nil || origin.first == "https" {
            curl_kit_set_debug_function(handle) { _, kind, text, count, transfer in
                guard let text, let transfer = Transfer.from(transfer) else { return 0 }
                let data = Data(bytesNoCopy: text, count: count, deallocator: .none)
                if kind == CURLINFO_HEADER_OUT { transfer.sentHead(data) }
                if kind == CURLINFO_TEXT, !transfer.trust.pinnedKeys.isEmpty { transfer.logged(data) }
                return 0
            }
            curl_kit_set_pointer(handle, CURLOPT_DEBUGDATA, Unmanaged.passUnretained(self).toOpaque())
            curl_kit_set_long(handle, CURLOPT_VERBOSE, 1)
        }
        return trust.apply(to: handle, origin: origin)
    }

    private func setTarget(_ handle: UnsafeMutableRawPointer) {
        curl_kit_set_long(handle, CURLOPT_NOSIGNAL, 1)
        curl_kit_set_pointer(handle, CURLOPT_ERRORBUFFER, errorText)
        curl_kit_allow_http_only(handle)
        curl_kit_set_string(handle, CURLOPT_URL, request.url.absoluteString)
        // Otherwise libcurl would remove dot segments from the route's path.
        curl_kit_set_long(handle, CURLOPT_PATH_AS_IS, 1)
        curl_kit_set_long(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        curl_kit_set_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        curl_kit_set_long(handle, CURLOPT_BUFFERSIZE, 1 << 17)
        curl_kit_set_long(handle, CURLOPT_UPLOAD_BUFFERSIZE, 1 << 17)
        curl_kit_set_string(handle, CURLOPT_USERAGENT, "NetworkKit")
        if request.headers[.acceptEncoding] == nil { curl_kit_set_string(handle, CURLOPT_ACCEPT_ENCODING, "") }
        if let credentials = request.credentials {
            curl_kit_set_string(handle, CURLOPT_USERNAME, credentials.user)
            curl_kit_set_string(handle, CURLOPT_PASSWORD, credentials.password)
            curl_kit_set_long(handle, CURLOPT_HTTPAUTH, credentials.scheme.bits(isEncrypted: origin.first == "https"))
        }
        for field in request.headers.combined {
            let line = field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)"
            headerList = curl_slist_append(headerList, line)
        }
        // Otherwise libcurl waits a second for servers that do not support it.
        if request.headers[.expect] == nil { headerList = curl_slist_append(headerList, "Expect:") }
        curl_kit_set_pointer(handle, CURLOPT_HTTPHEADER, headerList)
    }

    private func setMethod(_ handle: UnsafeMutableRawPointer) {
        let method = request.method
        if method == .head, body == nil { curl_kit_set_long(handle, CURLOPT_NOBODY, 1) }
        if body != nil || [.post, .put, .patch].contains(method) {
            curl_kit_set_long(handle, CURLOPT_UPLOAD, 1)
            curl_kit_set_offset(handle, CURLOPT_INFILESIZE_LARGE, body.map { curl_off_t($0.count ?? -1) } ?? 0)
        }
        curl_kit_set_string(handle, CURLOPT_CUSTOMREQUEST, method.rawValue)
    }

    private func setCallbacks(_ handle: UnsafeMutableRawPointer) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        for option in [CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_XFERINFODATA]
        {
            curl_kit_set_pointer(handle, option, context)
        }
        curl_kit_set_bytes_function(handle, CURLOPT_HEADERFUNCTION) { bytes, _, count, transfer in
            Transfer.from(transfer)?.receivedHeader(UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
        }
        curl_kit_set_bytes_function(handle, CURLOPT_WRITEFUNCTION) { bytes, _, count, transfer in
            Transfer.from(transfer)?.receivedBody(UnsafeRawBufferPointer(start: bytes, count: count)) ?? 0
        }
        curl_kit_set_bytes_function(handle, CURLOPT_READFUNCTION) { bytes, size, count, transfer in
            let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
            return Transfer.from(transfer)?.send(into: buffer) ?? Int(CURL_READFUNC_ABORT)
        }
        curl_kit_set_seek_function(handle) { transfer, offset, origin in
            guard offset == 0, origin == SEEK_SET, let transfer = Transfer.from(transfer) else {
                return CURL_SEEKFUNC_CANTSEEK
            }
            transfer.rewind()
            return CURL_SEEKFUNC_OK
        }
        curl_kit_set_progress_function(handle) { transfer, _, received, _, sent in
            Transfer.from(transfer)?.progressed(sent: Int64(sent), received: Int64(received))
            return 0
        }
        curl_kit_set_long(handle, CURLOPT_NOPROGRESS, 0)
        watch.open(with: handle, for: self)
    }

    static func from(_ context: UnsafeMutableRawPointer?) -> Transfer? {
        ExitGate.stopIfClosed()
        return context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
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
