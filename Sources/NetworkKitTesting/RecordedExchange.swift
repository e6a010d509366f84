import Foundation
import HTTPTypes
import NetworkKit

/// A request and its response, as an object in the file.
struct RecordedExchange: Codable, Sendable {
    /// Method and URL.
    var request: String
    var status: Int
    /// `Name: value`.
    var headers: [String]
    /// The lines of a body that is text, with their ends.
    var text: [String]?
    /// Another body.
    var base64: Data?

    /// Describe the connection or the coding of the body, or are secrets.
    private static let omitted: Set<HTTPField.Name> = [
        .contentEncoding, .contentLength, .transferEncoding, .connection, .setCookie,
    ]

    init(_ request: NetworkRequest, _ answer: StubbedAnswer) {
        self.request = "\(request.method.rawValue) \(request.url.withoutSecretValues)"
        status = answer.status.code
        headers = answer.headers.filter { !Self.omitted.contains($0.name) }.map { field in
            let isLocation = field.name == .location
            let target = isLocation ? URL(string: field.value, relativeTo: request.url)?.absoluteURL : nil
            return "\(field.name.rawName): \(target?.withoutSecretValues ?? field.value)"
        }
        guard let text = String(data: answer.body, encoding: .utf8) else {
            base64 = answer.body
            return
        }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { "\($0)\n" }
        if let last = lines.popLast(), last != "\n" { lines.append(String(last.dropLast())) }
        self.text = lines
    }

    func answer(in file: URL) throws -> StubbedAnswer {
        var fields = HTTPFields()
        for line in headers {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else {
                throw StubFileError(description: "\(file.path): '\(line)' is not a header field, such as 'Name: value'")
            }
            fields.append(HTTPField(name: name, value: parts[1].trimmingCharacters(in: .whitespaces)))
        }
        let body = base64 ?? Data((text ?? []).joined().utf8)
        return StubbedAnswer(status: .init(code: status), headers: fields, body: body)
    }

    static func read(_ file: URL) throws -> [Self] {
        do {
            return try JSONDecoder().decode([Self].self, from: Data(contentsOf: file))
        } catch {
            throw StubFileError(description: "\(file.path): \(error); remove it to record it again")
        }
    }

    static func write(_ exchanges: [Self], to file: URL) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(exchanges).write(to: file, options: .atomic)
    }
}

/// What is wrong with a file of responses.
struct StubFileError: Error, CustomStringConvertible {
    var description: String
}
