#if DBus
import TestSupport

@testable import DesktopBackends

/// The job of KDE Plasma, with a scripted server.
@Suite(.needs(.bus)) struct DesktopJobTests {
    /// A server on a bus of its own, and an app there.
    private func job(_ answer: JobServer.Answer = .view, settings: String = "{}") async throws -> (
        server: JobServer, probe: DesktopProbe
    ) {
        let bus = try await PrivateBus()
        let server = try JobServer(on: bus, answer: answer)
        return (server, try await DesktopProbe(backends: "desktopJob", "desktopJob: \(settings)", on: bus))
    }

    @Test("The view has the label, the progress, the amounts and the rest; it ends without a message")
    func values() async throws {
        let (server, probe) = try await job()
        // Plasma shows the title as it is, and a message as markup.
        try await probe.follow("begin Copying <b>\u{1B}[1m = Copying <b>[1m") { server.shown }
        let first = try #require(server.views.first)
        #expect(first.desktopEntry.isEmpty && !first.isKillable)
        try await probe.follow(
            """
            bytes 3000000 12000000 = Copying <b>[1m 25% | begin-other other = Copying <b>[1m 25% (2 in progress)
            attention Passphrase for <a>&? = Copying <b>[1m 25% (Passphrase for &lt;a&gt;&amp;?)
            end-other | end = nothing
            """
        ) { server.shown }
        let last = try #require(server.views.first)
        let values: [String: BusValue] = [
            "application-display-name": .string("probe"), "immediate": .boolean(true), "transient": .boolean(true),
            "processedBytes": .uint64(3_000_000), "totalBytes": .uint64(12_000_000),
        ]
        #expect(last.properties.filter { values.keys.contains($0.key) } == values)
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
        try await probe.follow("begin Copying = Copying | fail disk <full> = nothing") { server.shown }
        #expect(server.views.first?.properties["transient"] == .boolean(whenDone != "always"))
        #expect(server.views.first?.end?.message == "disk &lt;full&gt;")
        // The second one ends, and nobody says how: it does not remain as a success, as the last one does.
        try await probe.follow("begin Copying = Copying | end = nothing") { server.shown }
        try await probe.follow("begin Copying = Copying | succeed = nothing") { server.shown }
        #expect(server.views.map { $0.end?.code } == [code, whenDone == "always" ? 1 : 0, 0])
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
        try await server.cancel()
        #expect(try await eventually { try await probe.tell("outcome") == "cancelled" })
        #expect(server.open.count == 1)
        try await probe.tell("observe")
        try await expectEventually {
            try await server.cancel()
            return try await probe.tell("outcome") == "requested: Copying"
        }
        // The indicator is shown as long as the app needs to end the work.
        try await probe.follow("cancel = nothing") { server.shown }
        #expect(server.views.map(\.end?.code) == [1, 0])
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

    @Test(
        "A server that answers with an error, another type or nothing is asked once a time",
        arguments: BusPeer.WrongAnswer.allCases
    )
    func wrongAnswers(answer: BusPeer.WrongAnswer) async throws {
        let (server, probe) = try await job(.wrong(answer))
        try await probe.tell("begin", "Copying")
        if answer != .nothing { #expect(await probe.logs("Plasma shows no job")) }
        try await probe.tell("progress", "0.5")
        #expect(try await probe.status(of: "desktopJob") == "running")
        #expect(await eventually { server.requestCount == 1 })
        try await probe.follow("end | cycles 1000 | shutdown")
        #expect(probe.log.components(separatedBy: "Plasma shows no job").count <= 2)
        // Never two at a time.
        if answer == .nothing { #expect(server.requestCount == 1) }
    }

    @Test func `What is for the view of a server that has ended does not reach the next one`() async throws {
        let bus = try await PrivateBus()
        var server: JobServer? = try JobServer(on: bus)
        let probe = try await DesktopProbe(backends: "desktopJob", on: bus)
        try await probe.tell("begin", "Copying") { server?.open.count == 1 }
        // The app learns of both at once, and still has the first view.
        #expect(kill(probe.processID, SIGSTOP) == 0)
        server = nil
        let next = try JobServer(on: bus)
        #expect(kill(probe.processID, SIGCONT) == 0)
        #expect(await eventually { next.open.count == 1 })
        #expect(next.strayCallCount == 0 && next.views.count == 1)
    }

    @Test func `While Plasma shows the job, the backend for docks sends no bar: Plasma does`() async throws {
        let bus = try await PrivateBus()
        let monitor = try await LauncherMonitor(bus)
        var server: JobServer? = try JobServer(on: bus)
        let settings = "desktopJob: {desktopFile: \(DesktopProbe.desktopFile)}"
        let probe = try await DesktopProbe(backends: "desktopJob, launcherEntry", settings, on: bus)
        try await probe.follow("begin Copying | progress 0.5 = Copying 50%") { server?.shown ?? "" }
        #expect(server?.open.first?.desktopEntry == "org.example.probe")
        // Plasma takes it from the desktop file.
        #expect(server?.open.first?.properties["application-display-name"] == nil)
        // The mark of a failure reaches docks with all that is new for them.
        try await probe.follow("begin-other Moving | fail disk full = !") { monitor.updates.joined(separator: ", ") }
        server = nil
        #expect(try await probe.backend("desktopJob", is: "unavailable"))
        try await probe.follow("end-other | begin Copying | progress 0.75")
        await expectEventually { monitor.last.hasPrefix("75%") }
    }
}
#endif
