import TestSupport

@Suite struct ActivityOutcomeTests {
    private struct Failure: Error, CustomStringConvertible { var description: String { "HTTP 503" } }

    /// A cancelled request of `URLSession` counted as failed.
    @Test func `Cancellation is no failure`() {
        #expect(ActivityOutcome(CancellationError()) == .cancelled)
        #expect(ActivityOutcome(URLError(.cancelled)) == .cancelled)
        #expect(ActivityOutcome(Failure()) == .failed("HTTP 503"))
    }

    /// 0 was both "none" and the first activity.
    @Test func `Ids begin with one`() {
        let manager = TestIndicator().manager
        let first = manager.begin("first")
        #expect(manager.snapshot.activities.map(\.id) == [1])
        #expect(ActivityDetails(label: "first").id == 0)
        first.end()
    }
}

@Suite("The text of a failure") struct FailureTextTests {
    private struct Localized: LocalizedError, CustomStringConvertible {
        var errorDescription: String? { "The disk is full." }
        var description: String { "Localized()" }
    }

    private struct Described: CustomNSError, CustomStringConvertible {
        var description: String { "no route to host" }
    }

    /// `Error Domain=NSCocoaErrorDomain Code=260 "The file doesn’t exist."UserInfo={NSUnderlyingError=…`
    @Test func `The text of a failure is a sentence`() throws {
        func text(_ body: () throws -> Void) throws -> String {
            do { try body() } catch { if case .failed(let text) = ActivityOutcome(error) { return text } }
            throw CancellationError()
        }
        #expect(try text { throw Localized() } == "The disk is full.")
        #expect(try text { throw Described() } == "no route to host")
        let missing = "missing.txt: The file doesn’t exist."
        #expect(try text { _ = try String(contentsOfFile: "/missing.txt", encoding: .utf8) } == missing)
        #expect(try text { _ = try FileHandle(forReadingFrom: URL(filePath: "/missing.txt")) } == missing)
        #expect(try text { throw POSIXError(.ENOSPC) } == "No space left on device")
        let userInfo = [NSLocalizedDescriptionKey: "The key has expired."]
        #expect(try text { throw NSError(domain: "keys", code: 3, userInfo: userInfo) } == "The key has expired.")
    }
}
