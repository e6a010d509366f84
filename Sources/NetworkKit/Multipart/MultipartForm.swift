public import Foundation
import HTTPTypes

/// A form whose parts may be files: `multipart/form-data` (RFC 7578).
///
/// ```swift
/// var form = MultipartForm()
/// form.append("Holiday", name: "title")
/// form.append(file: picture, name: "picture")
/// let answer = try await client.send(Store.upload(form))
/// ```
///
/// Nothing is read before the form is sent, and then as it is sent: a file of any size takes no more memory than one of
/// a few bytes. The length is sent first, unless a stream is among the parts: it is not known then, and the body goes
/// in chunks.
public struct MultipartForm: Sendable {
    enum Content: Sendable {
        case data(Data)
        case file(URL)
        case stream(@Sendable () throws -> InputStream)
    }

    struct Part: Sendable {
        var name: String
        var fileName: String?
        var contentType: String?
        var content: Content
    }

    /// What separates the parts: 128 random bits, which no content holds by chance.
    let boundary: String
    private(set) var parts: [Part] = []

    /// Makes an empty form.
    public init() {
        var generator = SystemRandomNumberGenerator()
        let bits = (generator.next() as UInt64, generator.next() as UInt64)
        self.init(boundary: "indicator-" + String(bits.0, radix: 16) + "-" + String(bits.1, radix: 16))
    }

    init(boundary: String) {
        self.boundary = boundary
    }

    /// The value of the header field `Content-Type`.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// Adds a field.
    ///
    /// - Parameters:
    ///   - text: its value, sent in UTF-8.
    ///   - name: its name.
    public mutating func append(_ text: String, name: String) {
        parts.append(Part(name: name, content: .data(Data(text.utf8))))
    }

    /// Adds bytes.
    ///
    /// - Parameters:
    ///   - data: the bytes.
    ///   - name: the field's name.
    ///   - fileName: the name of a file that they are the contents of.
    ///   - contentType: their media type; by default that of the file name's extension, and none without a file name.
    public mutating func append(_ data: Data, name: String, fileName: String? = nil, contentType: String? = nil) {
        append(.data(data), name: name, fileName: fileName, contentType: contentType)
    }

    /// Adds a file. It is read when the form is sent.
    ///
    /// - Parameters:
    ///   - file: where it is.
    ///   - name: the field's name.
    ///   - fileName: the name to send; by default its own.
    ///   - contentType: its media type; by default that of its extension.
    public mutating func append(file: URL, name: String, fileName: String? = nil, contentType: String? = nil) {
        append(.file(file), name: name, fileName: fileName ?? file.lastPathComponent, contentType: contentType)
    }

    /// Adds what a stream delivers. It is read to its end when the form is sent.
    ///
    /// - Parameters:
    ///   - name: the field's name.
    ///   - fileName: the name of a file that it is the contents of.
    ///   - contentType: its media type; by default that of the file name's extension, and none without a file name.
    ///   - stream: makes the stream; called once each time that the form is sent. It is read on the network's thread:
    ///     one that blocks holds up the client's other requests.
    public mutating func append(
        name: String,
        fileName: String? = nil,
        contentType: String? = nil,
        stream: @escaping @Sendable () throws -> InputStream
    ) {
        append(.stream(stream), name: name, fileName: fileName, contentType: contentType)
    }

    private mutating func append(_ content: Content, name: String, fileName: String?, contentType: String?) {
        let type = contentType ?? fileName.map { MIMEType.forPathExtension(($0 as NSString).pathExtension) }
        parts.append(Part(name: name, fileName: fileName, contentType: type, content: content))
    }
}

extension MultipartForm {
    /// The whole body. Blocks.
    func body() throws -> RequestBody {
        var body = RequestBody()
        body.contentType = contentType
        for part in parts {
            body.append(Data(try part.header(boundary: boundary).utf8))
            switch part.content {
            case .data(let data): body.append(data)
            case .file(let url): try body.append(fileAt: url)
            case .stream(let make): body.append(stream: make, named: part.name)
            }
            body.append(Data("\r\n".utf8))
        }
        body.append(Data("--\(boundary)--\r\n".utf8))
        return body
    }
}

extension MultipartForm.Part {
    /// The lines before the content.
    ///
    /// Names are quoted strings (RFC 7578 §4.2, RFC 2183 §2, RFC 2045 §5.1): quotation marks and backslashes have a
    /// backslash before them. Characters beyond ASCII are sent in UTF-8 (§5.1). Control characters cannot stand in a
    /// quoted string; they are percent-encoded, as browsers do with line breaks.
    func header(boundary: String) throws -> String {
        var lines = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.quote(name))\""
        if let fileName { lines += "; filename=\"\(Self.quote(fileName))\"" }
        lines += "\r\n"
        if let contentType {
            guard HTTPField.isValidValue(contentType) else {
                throw NetworkError.invalidRequest("the content type of part '\(name)' has a control character in it")
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
            case "\u{0}"..."\u{1F}", "\u{7F}": quoted += PercentEncoding.encode(String(scalar))
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted
    }
}
