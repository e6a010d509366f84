import Foundation
import TestSupport
import Testing

/// Runs in a separate process: a process has one shared indicator.
@Suite("The shared indicator", .timeLimit(.minutes(2)))
struct SharedIndicatorTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("is configured once; a second attempt is logged and changes nothing")
    func once() async throws {
        let path = try folder.write("startDelay: 3\nbackends: [memory]\n")
        let helper = try HelperProcess([path, "shared"])
        #expect(await helper.says("ready"))
        try helper.send("backends")
        #expect(await helper.says("backends memory"))
        try helper.send("shared")
        #expect(await helper.says { $0.contains("not configured for 'again'") && $0.contains("already") } != nil)
        #expect(await helper.says("shared: delay 3.0 seconds, enabled, count 2"))
        // It follows its file like any other.
        try folder.write("startDelay: 4\nbackends: [memory]\nenabled: false\n")
        #expect(await helper.says("delay 4.0 seconds"))
        try helper.send("shutdown")
        #expect(await helper.says("shut down"))
        try helper.send("shared")
        #expect(await helper.says { $0.contains("not configured for 'again'") && $0.contains("shut down") } != nil)
        #expect(await helper.says("shared: delay 4.0 seconds, disabled, count 2"))
    }
}
