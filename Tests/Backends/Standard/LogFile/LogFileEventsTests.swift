import Foundation
import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import TestSupport
import Testing

@testable import IndicatorBackends

@Suite("The events of a log file", .timeLimit(.minutes(10)))
struct LogFileEventsTests {
    private let folder: TemporaryDirectory
    private let path: String

    init() throws {
        folder = try TemporaryDirectory()
        path = folder.appending("log")
    }

    /// The lines without the time and the process: `begin label="a"`.
    private var lines: [String] {
        let text = (try? folder.read("log")) ?? ""
        return text.split(separator: "\n").map { $0.split(separator: " ").dropFirst(2).joined(separator: " ") }
    }

    private func backend(_ events: Set<LogFileBackend.Event>) -> LogFileBackend {
        LogFileBackend(applicationName: "my-app", settings: .init(path: path, format: .text, events: events))
    }

    @Test
    func `are selected one by one`() async throws {
        let backend = backend([.hidden])
        try await backend.start()
        try await backend.update(.shown("a", at: 1))
        try await backend.update(.shown("a", at: 1).changed(to: "b", at: 2))
        try await backend.update(.hidden(at: 3))
        await backend.stop()
        #expect(lines == ["hidden state=inactive visible=false count=0"])
    }
}
