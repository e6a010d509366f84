#if DBus
import TestSupport

@testable import DesktopBackends

/// The job of KDE Plasma, with a scripted server.
@Suite(.needs(.bus)) struct DesktopJobTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func probe(
        _ bus: PrivateBus,
        settings: String = "{}",
        backends: String = "desktopJob",
        isRunning: Bool = true
    ) async throws -> DesktopProbe {
        try await DesktopProbe(
            configuration: """
                backends: [\(backends)]
                desktopJob: \(settings)
                launcherEntry: {desktopFile: org.example.probe.desktop}
                """,
            in: folder,
            environment: ["XDG_DATA_HOME": folder.path],
            bus: bus,
            running: isRunning ? "desktopJob" : nil
        )
    }

    /// A server on a bus of its own, and an app there.
    private func job(_ answer: JobServer.Answer = .view, settings: String = "{}") async throws -> (
        server: JobServer, probe: DesktopProbe
    ) {
        let bus = try await PrivateBus()
        let server = try JobServer(on: bus, answer: answer)
        return (server, try await probe(bus, settings: settings))
    }

    @Test("The view has the label, the progress, the amounts and the rest; it ends without a message")
    func values() async throws {
        let (server, probe) = try await job()
        // Plasma shows the title as it is.
        try await probe.follow("begin Copying <b>\u{1B}[1m = Copying <b>[1m") { server.shown }
        let view = try #require(server.views.first)
        #expect(view.desktopEntry.isEmpty && !view.isKillable)
        let values: [String: BusValue] = [
            "application-display-name": .string("probe"), "immediate": .boolean(true), "transient": .boolean(true),
        ]
        #expect(view.properties.filter { values.keys.contains($0.key) } == values)
        // And a message as markup.
        try await probe.follow(
            """
            bytes 3000000 12000000 = Copying <b>[1m 25% | begin-other other = Copying <b>[1m 25% (2 in progress)
            attention Passphrase for <a>&? = Copying <b>[1m 25% (Passphrase for &lt;a&gt;&amp;?)
            end-other | end = nothing
            """
        ) { server.shown }
        let last = try #require(server.views.first)
        #expect(last.properties["processedBytes"] == .uint64(3_000_000))
        #expect(last.properties["totalBytes"] == .uint64(12_000_000))
        #expect(last.end?.code == 0 && last.end?.message == "")
        try await probe.shutdown()
        #expect(server.views.count == 1)
    }

    @Test(
        "A failure ends it with the message, unless none is wanted; a success remains only if that is wanted",
        arguments: [("failures", UInt32(100)), ("never", 1), ("always", 100)]
    )
    func outcomes(whenDone: String, code: UInt32) async throws {
        let (server, probe) = try await job(settings: "{whenDone: \(whenDone)}")
        try await probe.follow("begin Copying = Copying") { server.shown }
        #expect(server.views.first?.properties["transient"] == .boolean(whenDone != "always"))
        try await probe.follow("fail disk <full> = nothing") { server.shown }
        #expect(server.views.first?.end?.code == code)
        #expect(server.views.first?.end?.message == "disk &lt;full&gt;")
        // The next one ends, and nobody says how: it does not remain as a success.
        try await probe.follow("begin Copying = Copying | end = nothing") { server.shown }
        #expect(server.views.last?.end?.code == (whenDone == "always" ? 1 : 0))
        // The last one succeeds.
        try await probe.follow("begin Copying = Copying | succeed = nothing") { server.shown }
        #expect(server.views.last?.end?.code == 0)
    }

    @Test func `The button appears when the app begins to observe requests, without another change`() async throws {
        let (server, probe) = try await job()
        try await probe.follow("begin Copying = Copying | observe = Copying [x]") { server.shown }
        #expect(server.views.map(\.end?.code) == [1, nil])
    }

    @Test("The button is there only while the app can cancel; it cancels the task, and reaches the app")
    func cancel() async throws {
        let (server, probe) = try await job()
        try await probe.follow("begin Copying = Copying") { server.shown }
        try await probe.tell("cancellable", "Uploading") { server.open.first?.isKillable == true }
        #expect(server.views.count == 2 && server.views.first?.end?.code == 1)
        try await server.cancel()
        #expect(try await eventually { try await probe.tell("outcome") == "cancelled" })
        #expect(server.open.count == 1)
        try await probe.tell("observe")
        try await server.cancel()
        #expect(try await eventually { try await probe.tell("outcome") == "requested: Copying" })
        try await probe.tell("cancel") { server.open.isEmpty }
        // The indicator is shown as long as the app needs to end the work.
        #expect(server.views.last?.end?.code == 0)
    }

    @Test func `A view that comes after the indicator was hidden ends at once`() async throws {
        let (server, probe) = try await job(.late)
        try await probe.follow("begin Copying = Copying | cycles 100 | end") { server.shown }
        try await server.release()
        #expect(await eventually { server.open.isEmpty })
        try await probe.follow("begin Copying = Copying") { server.shown }
        // The process waits for no answer.
        try await probe.shutdown()
        try await server.release()
        #expect(await eventually { server.open.isEmpty })
        #expect(server.views.count == 2)
    }

    @Test func `A failure ends its own job, however soon the next one begins`() async throws {
        let (server, probe) = try await job(.late)
        try await probe.follow("begin first = first | fail disk full | begin second") { server.shown }
        try await server.release()
        #expect(await eventually { server.views.count == 2 })
        #expect(server.views[0].end?.code == 100 && server.views[0].end?.message == "disk full")
        #expect(server.views[0].properties["title"] == .string("first"))
        try await server.release()
        try await probe.follow("progress 0.5 = second 50%") { server.shown }
        // One that is over before the interval is, and one that follows.
        probe.send("fail", "no space")
        probe.send("begin", "third")
        probe.send("fail", "no rights")
        probe.send("begin", "last")
        try await expectEventually {
            try await server.release()
            return server.open.first?.properties["title"] == .string("last")
        }
        #expect(server.views[1].end?.message == "no space")
        #expect(server.views.map { $0.end?.message }.suffix(2) == ["no rights", nil])
    }

    @Test("A server that answers with an error, another type or nothing is asked once a time", arguments: [0, 1, 2])
    func wrongAnswers(index: Int) async throws {
        let (server, probe) = try await job([.error, .wrongType, .nothing][index])
        try await probe.tell("begin", "Copying")
        if index < 2 { #expect(await probe.logs("Plasma shows no job")) }
        try await probe.tell("progress", "0.5")
        #expect(try await probe.status(of: "desktopJob") == "running")
        #expect(probe.log.split(separator: "\n").count { $0.contains("Plasma shows no job") } <= 1)
        #expect(await eventually { server.requestCount == 1 })
        try await probe.follow("end | cycles 1000 | shutdown")
        // Never two at a time.
        if index == 2 { #expect(server.requestCount == 1) }
    }

    @Test func `Two apps with one desktop file have a view each`() async throws {
        let bus = try await PrivateBus()
        let server = try JobServer(on: bus)
        let settings = "{desktopFile: org.example.probe.desktop}"
        let probes = [try await probe(bus, settings: settings), try await probe(bus, settings: settings)]
        for (index, probe) in probes.enumerated() {
            try await probe.tell("begin", "app \(index)") { server.open.count == index + 1 }
        }
        #expect(server.open.allSatisfy { $0.desktopEntry == "org.example.probe" })
        try await probes[0].follow("end = app 1") { server.shown }
        try await probes[1].follow("progress 0.5 = app 1 50%") { server.shown }
    }

    @Test func `A server that dies before it has answered leaves nothing; the next one shows the job`() async throws {
        let bus = try await PrivateBus()
        var server: JobServer? = try JobServer(on: bus, answer: .late)
        let probe = try await probe(bus)
        try await probe.tell("begin", "Copying") { server?.requestCount == 1 }
        server = nil
        #expect(try await probe.backend("desktopJob", is: "no service owns org.kde.JobViewServer"))
        let next = try JobServer(on: bus)
        #expect(await eventually { next.open.count == 1 })
        try await probe.tell("end") { next.open.isEmpty }
        #expect(next.views.count == 1)
    }

    @Test func `What is for the view of a server that has ended does not reach the next one`() async throws {
        let bus = try await PrivateBus()
        let probe = try await probe(bus, isRunning: false)
        var server: JobServer? = try JobServer(on: bus)
        try await probe.tell("begin", "Copying") { server?.open.count == 1 }
        // The app learns of both at once, and still has the first view.
        #expect(kill(probe.processID, SIGSTOP) == 0)
        server = nil
        let next = try JobServer(on: bus)
        #expect(kill(probe.processID, SIGCONT) == 0)
        #expect(await eventually { next.open.count == 1 })
        #expect(next.strayCallCount == 0 && next.views.count == 1)
    }

    @Test func `While Plasma shows the job, the backend for docks sends nothing: Plasma does`() async throws {
        let bus = try await PrivateBus()
        try folder.write("[Desktop Entry]\n", to: "applications/org.example.probe.desktop")
        let monitor = try await LauncherMonitor(bus)
        var server: JobServer? = try JobServer(on: bus)
        let probe = try await probe(
            bus,
            settings: "{desktopFile: org.example.probe.desktop}",
            backends: "desktopJob, launcherEntry"
        )
        #expect(try await probe.backend("launcherEntry", is: "running"))
        try await probe.follow("begin Copying | progress 0.5 = Copying 50%") { server?.shown ?? "" }
        #expect(server?.open.first?.desktopEntry == "org.example.probe")
        #expect(monitor.updates.isEmpty)
        server = nil
        #expect(try await probe.backend("desktopJob", is: "unavailable"))
        try await probe.tell("progress", "0.75") { monitor.updates.last == .init(progress: 0.75) }
    }
}
#endif
