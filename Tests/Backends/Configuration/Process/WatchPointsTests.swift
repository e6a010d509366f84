import TestSupport

@testable import BackendConfiguration

@Suite("The folders to watch for a file")
struct WatchPointsTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func points(_ path: String) -> [String: Set<String>] {
        var points: [String: Set<String>] = [:]
        for (place, names) in watchPoints(for: "\(folder.path)/\(path)") {
            points[place.replacingOccurrences(of: folder.path, with: ".")] = names
        }
        return points
    }

    private func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/\(path)", withDestinationPath: target)
    }

    @Test func `are its own`() throws {
        try folder.save("", to: "a/b/file")
        #expect(points("a/b/file") == ["./a/b": ["file"]])
        #expect(points("a/./b/../b/file") == ["./a/b": ["file"]])
        #expect(points("a/b/none") == ["./a/b": ["none"]])
    }

    @Test func `are where the missing part of its path would appear`() throws {
        #expect(points("x/y/file") == [".": ["x"]])
    }

    @Test func `are those of every link in its path`() throws {
        try folder.save("", to: "data1/file")
        try link("data", to: "data1")
        try folder.save("", to: "etc/other")
        try link("etc/file", to: "../data/file")
        #expect(points("etc/file") == ["./etc": ["file"], ".": ["data"], "./data1": ["file"]])
        try link("etc/absolute", to: "\(folder.path)/data1/none")
        #expect(points("etc/absolute") == ["./etc": ["absolute"], "./data1": ["none"]])
    }

    @Test func `are finite for a cycle of links`() throws {
        try link("a", to: "b")
        try link("b", to: "a")
        #expect(points("a") == [".": ["a", "b"]])
    }
}
