import Foundation
import NetworkKit

typealias JSON = NetworkKit.JSONValue

/// The contents of a body, in the format of httpbin's echo.
struct EchoBody {
    private(set) var data = ""
    private(set) var json = JSON.null
    private(set) var form: [(String, String)] = []
    private(set) var files: [(String, String)] = []

    init(_ body: Data, contentType: String) {
        let type = contentType.split(separator: ";").first.map { $0.lowercased() } ?? ""
        switch type {
        case "application/x-www-form-urlencoded":
            form = Self.readForm(String(decoding: body, as: UTF8.self))
        case "multipart/form-data":
            guard let boundary = contentType.firstMatch(of: #/boundary="?([^";]+)/#)?.1 else { return }
            readMultipart(body, boundary: String(boundary))
        default:
            data = Self.text(body, type: type)
            json = (try? JSON(parsing: body)) ?? .null
        }
    }

    /// Names and values as an object. Values with the same name become an array, as in httpbin.
    static func object(_ pairs: [(String, String)]) -> JSON {
        var members: [String: [JSON]] = [:]
        for (name, value) in pairs { members[name, default: []].append(JSON(value)) }
        return .object(members.mapValues { $0.count == 1 ? $0[0] : .array($0) })
    }

    private static func readForm(_ text: String) -> [(String, String)] {
        text.split(separator: "&").map { pair in
            let pieces = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { piece in
                let spaced = piece.replacing("+", with: " ")
                return spaced.removingPercentEncoding ?? String(spaced)
            }
            return (pieces[0], pieces.count > 1 ? pieces[1] : "")
        }
    }

    private mutating func readMultipart(_ body: Data, boundary: String) {
        let separator = Data("\r\n--\(boundary)".utf8)
        // The first separator has no line break before it.
        var rest = Data("\r\n".utf8) + body
        while let start = rest.range(of: separator) {
            rest = Data(rest[start.upperBound...])
            guard let headEnd = rest.range(of: Data("\r\n\r\n".utf8)), let end = rest.range(of: separator) else {
                return
            }
            guard headEnd.upperBound <= end.lowerBound else { continue }
            let head = String(decoding: rest[..<headEnd.lowerBound], as: UTF8.self)
            let content = Data(rest[headEnd.upperBound..<end.lowerBound])
            guard let name = Self.parameter("name", of: head) else { continue }
            if Self.parameter("filename", of: head) == nil {
                form.append((name, String(decoding: content, as: UTF8.self)))
            } else {
                let type = head.firstMatch(of: #/(?i)content-type: *([^\r\n;]+)/#).map { String($0.1) }
                files.append((name, Self.text(content, type: type ?? "application/octet-stream")))
            }
        }
    }

    /// A parameter of `Content-Disposition`: a quoted string (RFC 2183 §2).
    private static func parameter(_ name: String, of head: String) -> String? {
        guard let start = head.range(of: "; \(name)=\"") else { return nil }
        var value = ""
        var isEscaped = false
        for character in head[start.upperBound...] {
            if isEscaped || (character != "\\" && character != "\"") {
                value.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                return value
            }
        }
        return nil
    }

    /// The bytes as text, or as a `data:` URL when they are not UTF-8.
    private static func text(_ bytes: Data, type: String) -> String {
        if let text = String(data: bytes, encoding: .utf8) { return text }
        return "data:\(type.isEmpty ? "application/octet-stream" : type);base64,\(bytes.base64EncodedString())"
    }
}
