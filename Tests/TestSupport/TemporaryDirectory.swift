import Foundation

/// A new, empty folder that is removed, with all that is in it, together with the value.
package final class TemporaryDirectory: Sendable {
    /// Its absolute path.
    package let path: String

    /// Makes one in the system's folder for temporary files.
    package init(_ prefix: String = "indicator-test") throws {
        var template = Array("\(FileManager.default.temporaryDirectory.path)/\(prefix).XXXXXX".utf8CString)
        let isMade = mkdtemp(&template) != nil
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard isMade else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: path]) }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of something in it.
    package func appending(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file in it. Returns the file's path.
    @discardableResult
    package func write(_ text: String, to name: String) throws -> String {
        let path = appending(name)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    /// The text of a file in it.
    package func read(_ name: String) throws -> String {
        try String(contentsOfFile: appending(name), encoding: .utf8)
    }

    /// The names of what is in it, sorted.
    package func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}
