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

    /// The encoded body; `nil` without one. Blocks.
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
        }
        body.contentType = body.contentType ?? contentType
        return body
    }
}
