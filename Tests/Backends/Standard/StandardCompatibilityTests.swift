import Foundation
import IndicatorCore
import IndicatorTesting
import IndicatorThreads
import Logging
import TestSupport
import Testing

@testable import BackendConfiguration
@testable import IndicatorBackends

/// The backends of this module, with real files, sockets and programs.
@Suite struct StandardCompatibilityTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    /// What is in the way is moved away, and something else put in its place.
    private func surface(of name: String, hangs: String? = nil) -> BackendCompatibility.Surface {
        let (path, away) = (folder.appending(name), folder.appending(name) + ".away")
        return BackendCompatibility.Surface(
            take: {
                try FileManager.default.moveItem(atPath: path, toPath: away)
                try Data("not this".utf8).write(to: URL(filePath: path))
            },
            giveBack: {
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.moveItem(atPath: away, toPath: path)
            },
            hang: hangs.map { path in { @Sendable in try Data().write(to: URL(filePath: path)) } },
            goOn: { try FileManager.default.removeItem(atPath: hangs ?? path) }
        )
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `A log file`(_ expectation: BackendCompatibility.Case) async throws {
        try FileManager.default.createDirectory(atPath: folder.appending("logs"), withIntermediateDirectories: true)
        let settings = LogFileBackend.Settings(path: folder.appending("logs/x.log"))
        let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let suite = BackendCompatibility(
            make: { LogFileBackend(applicationName: "app", settings: settings, logger: quiet) },
            surface: surface(of: "logs")
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `The status of a service`(_ expectation: BackendCompatibility.Case) async throws {
        let address = folder.appending("notify")
        let manager = Locked<ServiceManager?>(try ServiceManager(address: address))
        let shown = Locked("STATUS=")
        let suite = BackendCompatibility(
            make: { SystemdStatusBackend(applicationName: "app") { ["NOTIFY_SOCKET": address] } },
            surface: BackendCompatibility.Surface(
                take: {
                    _ = manager.withLock { $0.take() }
                    try FileManager.default.removeItem(atPath: address)
                },
                giveBack: {
                    let new = try ServiceManager(address: address)
                    manager.withLock { $0 = new }
                },
                // Its queue is full.
                hang: { manager.withLock { $0?.fill() } },
                goOn: { _ = manager.withLock { $0?.receiveAll() } },
                shown: {
                    let texts = manager.withLock { $0?.receiveAll() } ?? []
                    return shown.withLock { shown in
                        shown = texts.last ?? shown
                        return shown
                    }
                }
            )
        )
        try await suite.check(expectation)
    }

    @Test(arguments: BackendCompatibility.Case.allCases)
    func `A program for events`(_ expectation: BackendCompatibility.Case) async throws {
        let hangs = folder.appending("hangs")
        let program = try folder.write("#!/bin/sh\nwhile [ -e '\(hangs)' ]; do sleep 0.1; done\n", to: "program")
        chmod(program, 0o755)
        let kind = try #require(BackendRegistry.standard.kind(named: "command"))
        let context = BackendContext(name: kind.name, applicationName: "app", logger: Logger(label: "test"))
        let configured = try kind.with([
            "run": .list([program]), "events": .list(["shown", "hidden", "finished"]), "after": 0,
        ])
        let suite = BackendCompatibility(
            make: { try configured.make(context) },
            // A program that fails later is in the log: the backend goes on.
            surface: expectation == .recovers
                ? BackendCompatibility.Surface() : surface(of: "program", hangs: hangs)
        )
        try await suite.check(expectation)
    }
}
