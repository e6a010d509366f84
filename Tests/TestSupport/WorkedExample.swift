/// A worked example of the rules of visibility: events in, changes of visibility out, in integer milliseconds.
package struct WorkedExample: Codable, Sendable {
    package struct Event: Codable, Sendable {
        package var t_ms: Int
        package var event: String
        package var id: String?
    }

    package struct Change: Codable, Sendable, Equatable {
        package var t_ms: Int
        package var visible: Bool

        package init(t_ms: Int, visible: Bool) { (self.t_ms, self.visible) = (t_ms, visible) }
    }

    package var name: String
    package var start_delay_ms: Int
    package var completion_delay_ms: Int
    package var minimum_visible_time_ms: Int
    package var events: [Event]
    package var expected: [Change]

    /// The folder of their files.
    package static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../IndicatorCoreTests/Resources/traces").standardized.path

    /// The names of their files.
    package static var files: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    /// Reads one.
    package init(file: String) throws {
        let data = try Data(contentsOf: URL(filePath: "\(Self.folder)/\(file)"))
        self = try JSONDecoder().decode(Self.self, from: data)
    }
}
