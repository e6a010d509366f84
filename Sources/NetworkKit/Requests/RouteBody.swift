public import Foundation

/// The body of a request.
public struct RouteBody: Sendable {
    enum Content: Sendable {
        case none
        case data(Data)
        case form(RouteParameters, QueryEncoding)
        case json(RouteParameters)
        case file(URL)
        case multipart(MultipartForm)
        case sequence(RequestBody.Producer)
    }

    let content: Content
    let contentType: String?

    /// No body.
    public static var none: Self { Self(content: .none, contentType: nil) }

    /// The fields of a form, `application/x-www-form-urlencoded`.
    public static func form(_ parameters: RouteParameters, encoding: QueryEncoding = .form) -> Self {
        Self(content: .form(parameters, encoding), contentType: "application/x-www-form-urlencoded; charset=utf-8")
    }

    /// JSON, with a stable key order.
    public static func json(_ parameters: RouteParameters) -> Self {
        Self(content: .json(parameters), contentType: "application/json")
    }

    /// A form that may contain files, `multipart/form-data`.
    public static func multipart(_ form: MultipartForm) -> Self {
        Self(content: .multipart(form), contentType: nil)
    }

    /// Bytes.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> Self {
        Self(content: .data(data), contentType: contentType)
    }

    /// The contents of a file, streamed. By default the content type is that of the extension.
    public static func file(_ url: URL, contentType: String? = nil) -> Self {
        Self(content: .file(url), contentType: contentType ?? MIMEType.forPathExtension(url.pathExtension))
    }

    /// The bytes of an asynchronous sequence, sent as they are produced. Their number is unknown to the server, which
    /// must accept `Transfer-Encoding: chunked` or HTTP/2.
    ///
    /// A sequence that waits does not count towards the request's timeout. An error of the sequence fails the request.
    ///
    /// - Parameters:
    ///   - contentType: the content type.
    ///   - bytes: returns a new sequence for each attempt. It is iterated one element ahead of what is sent.
    public static func stream<Bytes: AsyncSequence & Sendable>(
        contentType: String = "application/octet-stream",
        _ bytes: @escaping @Sendable () -> Bytes
    ) -> Self where Bytes.Element == Data {
        let producer: RequestBody.Producer = { pass in for try await piece in bytes() { try await pass(piece) } }
        return Self(content: .sequence(producer), contentType: contentType)
    }

    private init(content: Content, contentType: String?) {
        self.content = content
        self.contentType = contentType
    }

    /// Whether preparing it accesses files.
    var readsFiles: Bool {
        switch content {
        case .file: true
        case .multipart(let form): form.readsFiles
        case .none, .data, .form, .json, .sequence: false
        }
    }

    /// The encoded body; `nil` without one. Blocks if ``readsFiles``.
    func prepared() throws -> RequestBody? {
        var body: RequestBody
        switch content {
        case .none:
            return nil
        case .data(let data):
            body = RequestBody(data)
        case .form(let parameters, let encoding):
            body = RequestBody(Data(try encoding.encode(parameters).utf8))
        case .json(let parameters):
            body = RequestBody(try parameters.value.get().serializedData)
        case .file(let url):
            body = RequestBody()
            try body.append(fileAt: url)
        case .multipart(let form):
            body = try form.body()
        case .sequence(let producer):
            body = RequestBody()
            body.append(sequence: producer)
        }
        body.contentType = body.contentType ?? contentType
        return body
    }
}
