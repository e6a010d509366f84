import TestSupport

@testable import BackendConfiguration

@Suite("The folders to watch for a file")
struct WatchPointsTests {
    private static let points: [(sentence: String, path: String, points: [String: Set<String>])] = [
        ("its own", "a/b/file", ["./a/b": ["file"]]),
        ("its own, in every form", "a/./b/../b/file", ["./a/b": ["file"]]),
        ("where it would be", "a/b/none", ["./a/b": ["none"]]),
        ("where the missing part of its path would be", "x/y/file", [".": ["x"]]),
        ("those of every link in its path", "etc/file", ["./etc": ["file"], ".": ["data"], "./a/b": ["file"]]),
        ("those of a link with an absolute path", "etc/absolute", ["./etc": ["absolute"], "./a/b": ["none"]]),
        ("not endless, for a cycle of links", "one", [".": ["one", "other"]]),
    ]

    @Test(arguments: points)
    func `are where a change of its text can be seen`(sentence: String, path: String, expected: [String: Set<String>])
        throws
    {
        let folder = try TemporaryDirectory()
        try folder.save("", to: "a/b/file")
        mkdir(folder.appending("etc"), 0o700)
        for (link, target) in [
            ("data", "a/b"), ("etc/file", "../data/file"), ("etc/absolute", folder.appending("a/b/none")),
            ("one", "other"), ("other", "one"),
        ] {
            symlink(target, folder.appending(link))
        }
        var points: [String: Set<String>] = [:]
        for (place, names) in watchPoints(for: folder.appending(path)) {
            points[place.replacing(folder.path, with: ".")] = names
        }
        #expect(points == expected, "\(sentence)")
    }
}
