import Foundation
import TestSupport
import Testing

@testable import IndicatorBackends

@Suite struct LogFilePathTests {
    private func path(_ path: String?, app: String = "my-app", _ environment: [String: String]) throws -> String {
        try LogFilePath(path, applicationName: app, environment: environment).description
    }

    @Test func `The default is in the state folder`() throws {
        #expect(try path(nil, ["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/my-app/indicator.log")
        #expect(try path(nil, ["HOME": "/h"]) == "/h/.local/state/my-app/indicator.log")
    }

    @Test(arguments: ["", "relative/state"])
    func `A state folder that is not absolute is ignored`(folder: String) throws {
        #expect(try path(nil, ["XDG_STATE_HOME": folder, "HOME": "/h"]) == "/h/.local/state/my-app/indicator.log")
    }

    @Test(arguments: [("a/b", "a_b"), ("..", "indicator"), ("", "indicator"), ("../../etc", ".._.._etc")])
    func `The name of the app cannot leave the state folder`(app: String, folder: String) throws {
        #expect(try path(nil, app: app, ["XDG_STATE_HOME": "/s"]) == "/s/\(folder)/indicator.log")
    }

    @Test func `The tilde is the home folder`() throws {
        #expect(try path("~/x.log", ["HOME": "/h"]) == "/h/x.log")
        #expect(try path("/a/~/x.log", ["HOME": "/h"]) == "/a/~/x.log")
        #expect(try path("~/x.log", [:]).hasSuffix("/x.log"))
    }

    @Test func `A relative path is in the current folder`() throws {
        #expect(try path("x.log", [:]) == FileManager.default.currentDirectoryPath + "/x.log")
    }

    @Test(arguments: ["", "/var/log/", "~", "~root/x.log", "/tmp/a\0b", "$HOME/x.log", "${HOME}/x.log"])
    func `A path that cannot be a file is rejected`(given: String) throws {
        #expect {
            try path(given, ["HOME": "/h"])
        } throws: { error in
            error is Unavailability && "\(error)".contains("set 'path'")
        }
    }

    @Test func `A variable in the path is rejected with an explanation`() {
        let folder = FileManager.default.currentDirectoryPath
        #expect(
            LogFilePath.problem(with: "$HOME/x.log")
                == "variables are not expanded, so it leads to a folder named '$HOME' in '\(folder)'; write '~/' for "
                + "your home folder"
        )
    }

    @Test func `Missing folders are created for their owner only`() throws {
        let folder = try TemporaryDirectory()
        let path = try LogFilePath(folder.appending("a/b//c/x.log"), applicationName: "a", environment: [:])
        try path.makeFolders()
        for name in ["a", "a/b", "a/b/c"] { #expect(mode(of: folder.appending(name)) == 0o700) }
        try path.makeFolders()
    }
}
