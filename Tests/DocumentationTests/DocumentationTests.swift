import TestSupport

/// The README and the articles.
@Suite struct DocumentationTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static let documents: [String] = {
        ["README.md"] + files(below: "Sources") { $0.hasSuffix(".md") }
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

    /// A file in Snippets or Examples, and a document that shows parts of it.
    private struct Program: Hashable {
        var path: String
        var document: String
    }

    /// Each block is part of a file in Snippets or Examples, which is compiled with the imports that the document shows
    /// instead of its own. What the document hides may have others, marked `// hidden`, and what it hides of an example
    /// those of other packages.
    @Test func `Every block of Swift compiles with the imports that the reader sees`() async throws {
        let files =
            Self.files(below: "Snippets") { $0.hasSuffix(".swift") }
            + Self.files(below: "Examples") { $0.hasSuffix(".swift") && !$0.contains(".build/") }
        let sources = try files.map { (path: $0, code: Self.lines(try Self.text(of: $0))) }
        var programs: [Program: [String]] = [:]
        for document in Self.documents {
            let blocks = try Self.text(of: document).components(separatedBy: "```swift\n").dropFirst()
                .map { Self.lines($0.components(separatedBy: "```")[0]).components(separatedBy: "\n") }
            let imports = Array(Set(blocks.joined().filter { $0.hasPrefix("import ") })).sorted()
            for block in blocks {
                let code = block.filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
                let source = sources.first { $0.code.contains(code) }
                #expect(source != nil, "\(document): not in Snippets or Examples:\n\(code)")
                // The plug-in is a package of its own; see the next test.
                guard let source, !source.path.hasPrefix("Examples/plugin/") else { continue }
                programs[Program(path: source.path, document: document)] = imports
            }
        }
        #expect(programs.count > 12)
        let folder = try TemporaryDirectory()
        let compiler = try AppCompiler()
        let paths = try programs.enumerated().map { index, entry in
            // In one module, each in a function of its own; what it hides is outside, to the end of a declaration.
            var (outside, isOutside) = (entry.value, false)
            let text = try Self.text(of: entry.key.path).replacing("@main", with: "")
            let code = text.components(separatedBy: "\n").map {
                let isImport = $0.hasPrefix("import ")
                let isOurs = $0.hasPrefix("import Indicator") || $0.hasPrefix("import NetworkKit")
                let isOfExample = entry.key.path.hasPrefix("Examples") && isImport && !isOurs
                let isMarked = $0.hasSuffix("// hidden")
                guard isImport || isMarked || isOutside else { return $0 }
                if isMarked || isOutside || isOfExample { outside.append($0) }
                isOutside = $0.hasSuffix("{  // hidden") || isOutside && $0 != "}"
                return ""
            }
            let place = "\(entry.key.path), as in \(entry.key.document)"
            let lines =
                outside + ["func program\(index)() async throws {", "#sourceLocation(file: \"\(place)\", line: 1)"]
                + code
                + ["#sourceLocation()", "}"]
            return try folder.write(lines.joined(separator: "\n"), to: "program\(index).swift")
        }
        let problem = try await compiler.problem(in: paths)
        #expect(problem == nil)
    }

    /// Each night, CI builds it as a package of its own, and runs its tests.
    @Test func `The plug-in compiles with what is public`() async throws {
        let files = Self.files(below: "Examples/plugin/Sources/TrayIndicator") { $0.hasSuffix(".swift") }
        #expect(files.count > 1)
        let problem = try await AppCompiler().problem(in: files.map { Self.root.appendingPathComponent($0).path })
        #expect(problem == nil)
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
