#if DBus
import TestSupport

@testable import DesktopBackends

/// The lock that keeps the machine awake.
@Suite(.needs(.bus)) struct SleepInhibitorTests {
    private static let service = "org.freedesktop.login1"

    /// An app that has only the bus of the machine.
    private func probe(_ bus: PrivateBus, what: String = "[idle]") async throws -> DesktopProbe {
        let (settings, none) = ("sleepInhibitor: {what: \(what)}", ["DBUS_SESSION_BUS_ADDRESS": ""])
        return try await DesktopProbe(backends: "sleepInhibitor", settings, environment: none, on: bus)
    }

    @Test(.needs(.rootMounts), .needs(.login), arguments: LoginManager.Program.available)
    func `logind lists the lock exactly while the indicator is shown`(program: LoginManager.Program) async throws {
        let login = try await LoginManager(program, on: PrivateBus())
        let probe = try await probe(login.bus, what: "[shutdown, sleep]")
        #expect(try await login.inhibitors() == [])
        try await probe.tell("begin", "Copying\u{1B}[1m <b>")
        let expected = [["shutdown:sleep", "probe", "Copying[1m <b>", "block"]]
        #expect(try await eventually { try await login.inhibitors() == expected })
        try await probe.tell("end") { try await login.inhibitors() == [] }
        let descriptors = try probe.descriptors()
        try await probe.tell("cycles", "1000") { try await login.inhibitors() == [] }
        #expect(try await eventually { try probe.descriptors() == descriptors })
        try await probe.tell("begin", "Again") { try await login.inhibitors()?.count == 1 }
        await probe.kill()
        #expect(try await eventually { try await login.inhibitors() == [] })
    }

    @Test(
        "A service that answers with an error, another type or nothing is asked once",
        arguments: BusPeer.WrongAnswer.allCases
    )
    func wrongAnswers(answer: BusPeer.WrongAnswer) async throws {
        let bus = try await PrivateBus()
        let login = try BusPeer.broken(Self.service, on: bus, answer)
        let probe = try await probe(bus)
        try await probe.tell("begin", "Writing") { login.calls == ["Inhibit"] }
        if answer != .nothing { #expect(await probe.logs("login1 gave no lock")) }
        try await probe.deliver("label", "Still writing")
        #expect(login.calls == ["Inhibit"])
        try await probe.follow("end | cycles 1000")
        #expect(try await probe.status(of: "sleepInhibitor") == "running")
        // The calls are those of the shown times that were delivered; never two at a time.
        if answer == .nothing { #expect(login.calls == ["Inhibit"]) }
    }

    @Test(.needs(.rootMounts), .needs(.login))
    func `A service that dies before it has answered leaves nothing; the next one gives the lock`() async throws {
        let bus = try await PrivateBus()
        var broken: BusPeer? = try .broken(Self.service, on: bus)
        let probe = try await probe(bus)
        try await probe.tell("begin", "Writing") { broken?.calls == ["Inhibit"] }
        broken = nil
        #expect(try await probe.backend("sleepInhibitor", is: "no service owns \(Self.service) on this bus"))
        let login = try await LoginManager(on: bus)
        #expect(try await eventually { try await login.inhibitors() == [["idle", "probe", "Writing", "block"]] })
        try await probe.tell("end") { try await login.inhibitors() == [] }
    }

    @Test(.needs(.rootMounts), .needs(.login), arguments: LoginManager.Program.available)
    func `A lock that comes late is held while the indicator is shown again, and released at the end`(
        program: LoginManager.Program
    ) async throws {
        let login = try await LoginManager(program, on: PrivateBus())
        let probe = try await probe(login.bus)
        login.pause()
        try await probe.deliver("begin", "Late")
        try await probe.deliver("end")
        try await probe.deliver("begin", "Again")
        login.resume()
        // The late lock is kept for the work of now.
        #expect(try await eventually { try await login.inhibitors()?.count == 1 })
        try await probe.deliver("end")
        #expect(try await eventually { try await login.inhibitors() == [] })
        login.pause()
        try await probe.deliver("begin", "Last")
        // The process waits for no answer.
        try await probe.shutdown()
        login.resume()
        #expect(try await eventually { try await login.inhibitors() == [] })
    }
}
#endif
