public import Foundation

/// The body of a request.
public struct RouteBody: Sendable {
    /// Encodes it; `nil` without a body. Asks for the length of files.
    let prepared: @Sendable () throws -> PreparedBody?

    /// No body.
    public static var none: Self { Self { nil } }

    /// The fields of a form, `application/x-www-form-urlencoded`.
    public static func form(_ parameters: RouteParameters, encoding: QueryEncoding = .form) -> Self {
        Self {
            let text = try encoding.encode(parameters)
            return PreparedBody(Data(text.utf8), contentType: "application/x-www-form-urlencoded; charset=utf-8")
        }
    }

    /// JSON, with a stable key order.
    public static func json(_ parameters: RouteParameters) -> Self {
        Self { PreparedBody(try parameters.value.get().serializedData, contentType: "application/json") }
    }

    /// A form that may contain files, `multipart/form-data`.
    public static func multipart(_ form: MultipartForm) -> Self {
        Self { try form.body() }
    }

    /// Bytes.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> Self {
        Self { PreparedBody(data, contentType: contentType) }
    }

    /// The contents of a file, streamed. By default the content type is that of the extension.
    public static func file(_ url: URL, contentType: String? = nil) -> Self {
        Self {
            var body = PreparedBody(contentType: contentType ?? MIMEType.forPathExtension(url.pathExtension))
            try body.append(fileAt: url)
            return body
        }
    }

    /// The bytes of a stream. Their number is unknown to the server, which must accept `Transfer-Encoding: chunked` or
    /// HTTP/2.
    ///
    /// `stream` is called each time the body is sent. The stream is read on the network thread: a blocking one delays
    /// the client's other requests.
    public static func stream(
        contentType: String = "application/octet-stream",
        _ stream: @escaping @Sendable () throws -> InputStream
    ) -> Self {
        Self {
            var body = PreparedBody(contentType: contentType)
            body.append(stream: stream, named: "the body")
            return body
        }
    }
}
