import Foundation
import Testing

/// The code in the README and the articles is compiled: it is part of a snippet or an example.
@Suite struct DocumentationTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let documents: [String] = {
        let catalogues = files(below: "Sources") { $0.hasSuffix(".md") }
        return ["README.md"] + catalogues
    }()

    private static func files(below folder: String, where condition: (String) -> Bool) -> [String] {
        let names = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)?.allObjects ?? []
        return names.compactMap { $0 as? String }.filter(condition).map { "\(folder)/\($0)" }.sorted()
    }

    private static func text(of path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The lines of a text without the markers of snippets and without indentation.
    private static func lines(_ text: some StringProtocol) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("// snippet.") }
            .joined(separator: "\n")
    }

    @Test(arguments: documents)
    func `Every block of Swift is compiled`(document: String) throws {
        let compiled = try
            (Self.files(below: "Snippets") { $0.hasSuffix(".swift") }
            + Self.files(below: "Examples") { $0.hasSuffix(".swift") && !$0.contains(".build/") })
            .map { Self.lines(try Self.text(of: $0)) }
        #expect(compiled.count >= 4)
        for block in try Self.text(of: document).components(separatedBy: "```swift\n").dropFirst() {
            let code = Self.lines(block.components(separatedBy: "```")[0])
            #expect(compiled.contains { $0.contains(code) }, "not in Snippets or Examples:\n\(code)")
        }
    }

    @Test func `Every link of the README leads to a file`() throws {
        let readme = try Self.text(of: "README.md")
        let links = readme.matches(of: /\]\(([^)]+)\)/).map { String($0.output.1) }.filter { !$0.hasPrefix("http") }
        #expect(links.count > 3)
        for link in links {
            #expect(FileManager.default.fileExists(atPath: Self.root.appendingPathComponent(link).path), "\(link)")
        }
    }
    /// A reader who knows an article's title finds its file, and its page by its address.
    @Test(arguments: documents.dropFirst())
    func `The title of an article is the name of its file`(article: String) throws {
        let name = URL(filePath: article).deletingPathExtension().lastPathComponent
        let title = try Self.text(of: article).prefix { $0 != "\n" }.dropFirst(2)
        #expect(title.filter { $0.isLetter }.lowercased() == name.lowercased())
    }

    @Test(arguments: ["README.md", "SECURITY.md"])
    func `Every link to the site leads to an article or a library`(document: String) throws {
        let pages = Set(
            Self.documents.dropFirst().map { path in
                let parts = path.lowercased().dropLast(3).split(separator: "/").suffix(2)
                return parts.map { $0.replacing(".docc", with: "") }.joined(separator: "/")
            }
        )
        let links = try Self.text(of: document).matches(of: /github\.io\/swift-indicator\/documentation\/([^)]+)\)/)
        #expect(links.count > 1)
        for link in links.map({ String($0.output.1) }) {
            #expect(pages.contains(link) || pages.contains("\(link)/\(link)"), "\(link)")
        }
    }
}
