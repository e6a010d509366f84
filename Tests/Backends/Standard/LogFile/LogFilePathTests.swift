import TestSupport

@testable import IndicatorBackends

@Suite struct LogFilePathTests {
    @Test(
        arguments: [
            ("By default in the state folder", nil, "my-app", "/s", "/s/my-app/indicator.log"),
            ("By default below the home folder", nil, "my-app", nil, "/h/.local/state/my-app/indicator.log"),
            ("An empty state folder is ignored", nil, "a", "", "/h/.local/state/a/indicator.log"),
            ("A relative state folder is ignored", nil, "a", "relative/state", "/h/.local/state/a/indicator.log"),
            ("No name of an app leaves the state folder", nil, "a/b", "/s", "/s/a_b/indicator.log"),
            ("not to its parent", nil, "..", "/s", "/s/indicator/indicator.log"),
            ("not without a name", nil, "", "/s", "/s/indicator/indicator.log"),
            ("not to another folder", nil, "../../etc", "/s", "/s/.._.._etc/indicator.log"),
            ("The tilde is the home folder", "~/x.log", "a", nil, "/h/x.log"),
            ("only at the beginning", "/a/~/x.log", "a", nil, "/a/~/x.log"),
            ("A relative path is in the current folder", "x.log", "a", nil, "FOLDER/x.log"),
        ] as [(String, String?, String, String?, String)]
    )
    func `A path is completed`(sentence: String, given: String?, app: String, state: String?, full: String) throws {
        var environment = ["HOME": "/h"]
        environment["XDG_STATE_HOME"] = state
        let expected = full.replacing("FOLDER", with: FileManager.default.currentDirectoryPath)
        let path = try LogFilePath(given, applicationName: app, environment: environment)
        #expect(path.description == expected, "\(sentence)")
    }

    @Test(arguments: [
        ("", "the path is empty"), ("/var/log/", "ends with '/', so it names a folder"),
        ("~", "'~' is your own home folder"), ("~root/x.log", "'~' is your own home folder"),
        ("/tmp/a\0b", "a NUL character"), ("$HOME/x.log", "a folder named '$HOME' in '"),
        ("${HOME}/x.log", "write '~/' for your home folder; set 'path'"),
    ])
    func `A path that cannot be a file is rejected`(given: String, problem: String) {
        let error = #expect(throws: Unavailability.self) {
            try LogFilePath(given, applicationName: "my-app", environment: ["HOME": "/h"])
        }
        #expect(error?.description.contains(problem) == true)
    }

    @Test func `Missing folders are created for their owner only`() throws {
        let folder = try TemporaryDirectory()
        let path = try LogFilePath(folder.appending("a/b//c/x.log"), applicationName: "a", environment: [:])
        try path.makeFolders()
        for name in ["a", "a/b", "a/b/c"] { #expect(try folder.mode(name) == 0o700) }
        try path.makeFolders()
    }
}
