public import Foundation

/// What a request carries.
public struct RouteBody: Sendable {
    enum Content: Sendable {
        case none
        case data(Data)
        case form(Parameters, URLEncoding)
        case json(Parameters)
        case file(URL)
        case multipart(MultipartForm)
    }

    let content: Content
    let contentType: String?

    /// No body.
    public static var none: Self { Self(content: .none, contentType: nil) }

    /// The fields of a form, `application/x-www-form-urlencoded`.
    public static func form(_ parameters: Parameters, encoding: URLEncoding = .form) -> Self {
        Self(content: .form(parameters, encoding), contentType: "application/x-www-form-urlencoded; charset=utf-8")
    }

    /// JSON, with its keys in a stable order.
    public static func json(_ parameters: Parameters) -> Self {
        Self(content: .json(parameters), contentType: "application/json")
    }

    /// A form whose parts may be files, `multipart/form-data`.
    public static func multipart(_ form: MultipartForm) -> Self {
        Self(content: .multipart(form), contentType: nil)
    }

    /// Bytes.
    public static func data(_ data: Data, contentType: String = "application/octet-stream") -> Self {
        Self(content: .data(data), contentType: contentType)
    }

    /// The contents of a file, which are streamed; its type is that of its extension unless given.
    public static func file(_ url: URL, contentType: String? = nil) -> Self {
        Self(content: .file(url), contentType: contentType ?? MIMEType.forPathExtension(url.pathExtension))
    }
}
