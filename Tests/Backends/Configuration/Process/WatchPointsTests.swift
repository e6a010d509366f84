import Foundation
import Testing

@testable import BackendConfiguration

@Suite("The folders to watch for a file")
struct WatchPointsTests {
    private func points(_ path: String, in folder: TemporaryFolder) -> [String: Set<String>] {
        var points: [String: Set<String>] = [:]
        for (place, names) in watchPoints(for: "\(folder.path)/\(path)") {
            points[place.replacingOccurrences(of: folder.path, with: ".")] = names
        }
        return points
    }

    private func link(_ path: String, to target: String, in folder: TemporaryFolder) throws {
        try FileManager.default.createSymbolicLink(atPath: "\(folder.path)/\(path)", withDestinationPath: target)
    }

    @Test func `are its own`() throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "a/b/file")
        #expect(points("a/b/file", in: folder) == ["./a/b": ["file"]])
        #expect(points("a/./b/../b/file", in: folder) == ["./a/b": ["file"]])
        #expect(points("a/b/none", in: folder) == ["./a/b": ["none"]])
    }

    @Test func `are where the missing part of its path would appear`() throws {
        let folder = try TemporaryFolder()
        #expect(points("x/y/file", in: folder) == [".": ["x"]])
    }

    @Test func `are those of every link in its path`() throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "data1/file")
        try link("data", to: "data1", in: folder)
        try folder.write("", to: "etc/other")
        try link("etc/file", to: "../data/file", in: folder)
        #expect(points("etc/file", in: folder) == ["./etc": ["file"], ".": ["data"], "./data1": ["file"]])
        try link("etc/absolute", to: "\(folder.path)/data1/none", in: folder)
        #expect(points("etc/absolute", in: folder) == ["./etc": ["absolute"], "./data1": ["none"]])
    }

    @Test func `are finite for a cycle of links`() throws {
        let folder = try TemporaryFolder()
        try link("a", to: "b", in: folder)
        try link("b", to: "a", in: folder)
        #expect(points("a", in: folder) == [".": ["a", "b"]])
    }
}
