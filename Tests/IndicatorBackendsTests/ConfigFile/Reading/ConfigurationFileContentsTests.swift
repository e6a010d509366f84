import Foundation
import Testing

@testable import IndicatorBackends

@Suite("The bytes of a config file")
struct ConfigurationFileContentsTests {
    private func report(ofFileAt path: String) -> String? {
        #expect(throws: ConfigurationError.self) {
            try IndicatorConfiguration.load(
                applicationName: "my-app",
                path: path,
                environment: [:],
                registry: .forTests()
            )
        }?.description
    }

    @Test("come from a file, and nothing else is opened", .timeLimit(.minutes(1)))
    func otherThings() throws {
        let folder = try TemporaryFolder()
        #expect(report(ofFileAt: folder.path) == "\(folder.path): error: this is a folder; expected a file")

        let fifo = "\(folder.path)/fifo"
        try #require(mkfifo(fifo, 0o600) == 0)
        #expect(report(ofFileAt: fifo) == "\(fifo): error: this is a FIFO; expected a file")

        #expect(report(ofFileAt: "/dev/zero") == "/dev/zero: error: this is a device; expected a file")

        let file = try folder.write("{}", to: "file")
        let below = "\(file)/indicator.yaml"
        #expect(
            report(ofFileAt: below)
                == "\(below): error: there is no such file: a part of the path is not a folder"
        )

        let loop = "\(folder.path)/loop"
        try FileManager.default.createSymbolicLink(atPath: loop, withDestinationPath: "loop")
        #expect(
            report(ofFileAt: loop)
                == "\(loop): error: the file cannot be read: Too many levels of symbolic links"
        )
        #expect(report(ofFileAt: "") == ": error: this is not a path of a file")
    }

    @Test("are 1 MiB at most")
    func size() throws {
        let folder = try TemporaryFolder()
        let limit = ConfigurationFileContents.largestSize
        let largest = try folder.write(String(repeating: "#", count: limit), to: "largest.yaml")
        let configuration = try IndicatorConfiguration.load(
            applicationName: "my-app",
            path: largest,
            environment: [:],
            registry: .forTests()
        )
        #expect(configuration.file == largest)
        let huge = try folder.write(String(repeating: "#", count: limit + 1), to: "huge.yaml")
        #expect(
            report(ofFileAt: huge)
                == "\(huge): error: this file is larger than 1 MiB; a config file is a page of text"
        )
    }

    @Test(
        "may say nothing, in every way",
        arguments: [
            "", "\n", "# only a comment\n", "---\n", "---\n...\n", "{}", "null", "\u{FEFF}", "\u{FEFF}# x\r\n",
            "   \n\n",
        ]
    )
    func empty(text: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(text)
        let configuration = try IndicatorConfiguration.load(
            applicationName: "my-app",
            path: path,
            environment: [:],
            registry: .forTests()
        )
        #expect(configuration.backends.map(\.name) == ["terminalTitle", "dbusProperty"])
        #expect(configuration.file == path)
        #expect(configuration.warnings.isEmpty)
    }

    @Test(
        "count lines and columns as an editor does",
        arguments: [
            ("startDelay: 1\r\ncolour: x\r\n", 2, 1), ("\u{FEFF}colour: x\n", 1, 1),
            ("# é 😀\nterminalTitle: {format: \"😀é\", colour: x}\n", 2, 31),
        ]
    )
    func positions(text: String, line: Int, column: Int) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(text)
        #expect(report(ofFileAt: path)?.hasPrefix("\(path):\(line):\(column): error: unknown key 'colour'") == true)
    }
}
