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
        // The first separator has no line break before it.
        var rest = Data("\r\n".utf8) + body
        let separator = Data("\r\n--\(boundary)".utf8)
        while let start = rest.range(of: separator) {
            rest = Data(rest[start.upperBound...])
            let part = rest[..<(rest.range(of: separator)?.lowerBound ?? 0)]
            guard let headEnd = part.range(of: Data("\r\n\r\n".utf8)) else { continue }
            let head = String(decoding: part[..<headEnd.lowerBound], as: UTF8.self)
            let content = Data(part[headEnd.upperBound...])
            // A quoted string (RFC 2183 §2).
            guard let quoted = head.firstMatch(of: #/; name="((?:[^"\\]|\\.)*)"/#)?.1 else { continue }
            let name = String(quoted).replacing(#/\\(.)/#) { $0.output.1 }
            if head.contains("; filename=\"") {
                let type = head.firstMatch(of: #/(?i)content-type: *([^\r\n;]+)/#).map { String($0.1) }
                files.append((name, Self.text(content, type: type ?? "")))
            } else {
                form.append((name, String(decoding: content, as: UTF8.self)))
            }
        }
    }

    /// The bytes as text, or as a `data:` URL when they are not UTF-8.
    private static func text(_ bytes: Data, type: String) -> String {
        if let text = String(data: bytes, encoding: .utf8) { return text }
        return "data:\(type.isEmpty ? "application/octet-stream" : type);base64,\(bytes.base64EncodedString())"
    }
}
