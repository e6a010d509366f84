public import Foundation
import HTTPTypes

/// A form that may contain files: `multipart/form-data` (RFC 7578).
///
/// Files are read while the form is sent, so memory use does not depend on their size.
public struct MultipartForm: Sendable {
    struct Part: Sendable {
        var name: String
        var fileName: String?
        var contentType: String?
        /// Adds the content to a body.
        var write: @Sendable (inout PreparedBody) throws -> Void
    }

    /// The separator of the parts: 122 random bits, which do not occur in any content by chance.
    let boundary: String
    private(set) var parts: [Part] = []

    /// Creates an empty form.
    public init() { self.init(boundary: "indicator-\(UUID().uuidString)") }

    init(boundary: String) { self.boundary = boundary }

    /// The value of the header field `Content-Type`.
    package var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Adds a field with a text, sent in UTF-8.
    public mutating func append(_ text: String, name: String) {
        parts.append(Part(name: name) { $0.append(Data(text.utf8)) })
    }

    /// Adds bytes, by default with the media type of the file name's extension, and with none without a file name.
    public mutating func append(_ data: Data, name: String, fileName: String? = nil, contentType: String? = nil) {
        append(name, fileName, contentType) { $0.append(data) }
    }

    /// Adds a file, which is read while the form is sent. By default with its own name.
    public mutating func append(file: URL, name: String, fileName: String? = nil, contentType: String? = nil) {
        append(name, fileName ?? file.lastPathComponent, contentType) { try $0.append(fileAt: file) }
    }

    private mutating func append(
        _ name: String,
        _ fileName: String?,
        _ contentType: String?,
        _ write: @escaping @Sendable (inout PreparedBody) throws -> Void
    ) {
        let type = contentType ?? fileName.map { MIMEType.forPathExtension(($0 as NSString).pathExtension) }
        parts.append(Part(name: name, fileName: fileName, contentType: type, write: write))
    }
}

extension MultipartForm {
    /// The complete body.
    func body() throws -> PreparedBody {
        var body = PreparedBody(contentType: contentType)
        for part in parts {
            body.append(Data(try part.header(boundary: boundary).utf8))
            try part.write(&body)
            body.append(Data("\r\n".utf8))
        }
        body.append(Data("--\(boundary)--\r\n".utf8))
        return body
    }
}

extension MultipartForm.Part {
    /// The lines before the content. Names are quoted strings in UTF-8 (RFC 7578 §4.2, §5.1). These cannot contain
    /// control characters, which are percent-encoded, as browsers encode line breaks.
    func header(boundary: String) throws -> String {
        var lines = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quote(name))\""
        if let fileName { lines += "; filename=\"\(Self.quote(fileName))\"" }
        lines += "\r\n"
        if let contentType {
            guard HTTPField.isValidValue(contentType) else {
                throw NetworkError.invalidRequest("the content type of part '\(name)' contains a control character")
            }
            lines += "Content-Type: \(contentType)\r\n"
        }
        return lines + "\r\n"
    }

    static func quote(_ text: String) -> String {
        var quoted = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..."\u{1F}", "\u{7F}": quoted += String(scalar).percentEncoded()
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted
    }
}

/// The media types of what apps often send (IANA's registry of media types).
package enum MIMEType {
    /// The media type of a file name extension, case-insensitive; `application/octet-stream` for an unknown extension.
    package static func forPathExtension(_ pathExtension: String) -> String {
        types[pathExtension.lowercased()] ?? "application/octet-stream"
    }

    private static let types: [String: String] = [
        "csv": "text/csv", "gif": "image/gif", "heic": "image/heic", "html": "text/html", "jpeg": "image/jpeg",
        "jpg": "image/jpeg", "json": "application/json", "mov": "video/quicktime", "mp3": "audio/mpeg",
        "mp4": "video/mp4", "pdf": "application/pdf", "png": "image/png", "svg": "image/svg+xml", "txt": "text/plain",
        "webp": "image/webp", "xml": "application/xml", "zip": "application/zip",
    ]
}
