#if DBus
@testable import IndicatorCore
import TestSupport

@testable import BackendConfiguration
@testable import DesktopBackends

/// The notification, as dunst shows it.
@Suite(.needs(.notifications)) struct DesktopNotificationTests {
    @Test("Shown once, updated in place, closed", arguments: NotificationWay.allCases)
    func shownUpdatedClosed(way: NotificationWay) async throws {
        try await onDesktop(through: way) { server, monitor, probe in
            #expect(try await server.displayedCount == 0)
            try await probe.tell("begin", "Fetching") { try await server.displayedCount == 1 }
            try await probe.tell("label", "Unpacking") { monitor.shown.last?.body == "Unpacking" }
            try await probe.tell("progress", "0.4") { monitor.shown.last?.hints["value"] == "i 40" }
            #expect(try await server.displayedCount == 1)
            #expect(try await server.historyCount == 0)
            try await probe.tell("end") { try await server.displayedCount == 0 }
            #expect(try await server.history("summary", "body", "progress") == ["probe|Unpacking 40%|40"])

            #expect(await eventually { monitor.calls.last?.member == "CloseNotification" })
            let calls = monitor.calls
            let first = try #require(calls.first)
            #expect(first.identifier == 0 && first.summary == "probe" && first.applicationName == "probe")
            #expect(first.icon == "network-transmit-receive" && first.timeout == 55_000)
            #expect(first.hints["urgency"] == "y 0" && first.hints["transient"] == "b 1")
            #expect(first.hints["category"] == "s transfer" && first.hints["suppress-sound"] == "b 1")
            #expect(first.hints["value"] == nil)
            // One notification throughout.
            let identifiers = Set(calls.dropFirst().map(\.identifier))
            #expect(identifiers.count == 1 && !identifiers.contains(0), "\(calls)")

            // The next time, a new notification is shown.
            try await probe.tell("begin", "Again") { try await server.displayedCount == 1 }
            #expect(await eventually { monitor.shown.last?.body == "Again" && monitor.shown.last?.identifier == 0 })
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `The last text stays until the notification is closed, and before that the outcome is shown`(
        way: NotificationWay
    ) async throws {
        // In the completion delay, there is time for an update. After a close, swaync would lose the outcome.
        try await onDesktop("completion=2 outcomes", through: way, leaving: 1) { server, monitor, probe in
            try await probe.tell("begin", "work") { try await server.displayedCount == 1 }
            try await probe.tell("succeed") { monitor.calls.count { $0.member == "CloseNotification" } == 1 }
            #expect(monitor.calls.map(\.member) == ["Notify", "Notify", "CloseNotification"])
            #expect(!monitor.shown.contains { $0.body.isEmpty }, "\(monitor.shown)")
        }
    }

    @Test func `With 'live: false', only the outcome is shown`() async throws {
        let (bus, server) = try await PrivateBus.withServer()
        defer { withExtendedLifetime(server) {} }
        let monitor = try await NotifyMonitor(bus)
        let settings = "{live: false, after: 0}"
        let folder = try TemporaryDirectory()
        let config = try folder.write(
            "startDelay: 0\nbackends: [desktopNotification]\ndesktopNotification: \(settings)\n",
            to: "config.yaml"
        )
        let probe = try await DesktopProbe("config=\(config)", bus: bus, running: "desktopNotification")
        try await probe.tell("begin", "work")
        try await probe.tell("end") { !monitor.shown.isEmpty }
        try await probe.shutdown()
        try await monitor.catchUp()
        #expect(monitor.shown.count == 1 && monitor.shown[0].body.hasPrefix("Ended"), "\(monitor.shown)")
    }

    @Test(arguments: NotificationWay.allCases)
    func `A request for the user's attention has normal urgency and no sound`(way: NotificationWay) async throws {
        try await onDesktop(through: way) { server, monitor, probe in
            try await probe.tell("begin", "Signing") { try await server.displayedCount == 1 }
            #expect(await eventually { monitor.shown.last?.hints["urgency"] == "y 0" })
            try await probe.tell("attention", "Passphrase?") { monitor.shown.last?.body == "Signing: Passphrase?" }
            #expect(monitor.shown.last?.hints["urgency"] == "y 1")
            #expect(monitor.shown.allSatisfy { $0.hints["suppress-sound"] == "b 1" && $0.hints["sound-name"] == nil })
            try await probe.tell("attention", "") { monitor.shown.last?.hints["urgency"] == "y 0" }
        }
    }

    private static let labels = [
        "<b>&amp; \"quoted\"", "</b></markup> 1 < 2 && 3 > 2", "<img src=\"file:///etc/passwd\"/>",
        "\u{1B}]0;x\u{07}\u{08}bell",
        "family 👩‍👩‍👧‍👦 e\u{301}", "مرحبا \u{202E}gnp.exe", "{app} {unknown}", "%s%n%d", "noncharacter \u{FFFE}",
    ]

    @Test(arguments: [true, false], NotificationWay.allCases)
    func `No label is read as markup, whatever the server supports`(markup: Bool, way: NotificationWay) async throws {
        try await onDesktop(through: way, markup: markup) { server, monitor, probe in
            for label in Self.labels {
                try await probe.tell("begin", label) { try await server.displayedCount == 1 }
                let text = SafeText.singleLine(label, limit: 300)
                let body = markup ? SafeText.markup(text) : text
                #expect(await eventually { monitor.shown.last?.body == body }, "\(label)")
                try await probe.tell("end") { try await server.displayedCount == 0 }
            }
            try await probe.tell("begin", "long") { try await server.displayedCount == 1 }
            try await probe.tell("long", "<&漢") { (monitor.shown.last?.body.count ?? 0) >= 300 }
            #expect(monitor.shown.last?.body.unicodeScalars.count ?? .max < 3000)
            #expect(try await server.displayedCount == 1)
            #expect(try await probe.status(of: "desktopNotification") == "running")
            if markup { #expect(!server.complaints.contains("Unable to parse markup"), "\(server.complaints)") }
        }
    }

    @Test(
        "Updated twice a second at most, only by a change, and to the current text",
        arguments: NotificationWay.allCases
    )
    func coalesced(way: NotificationWay) async throws {
        // On a busy machine, the default one would be renewed meanwhile, every 35 s.
        try await onDesktop("expiry=3600", through: way) { server, monitor, probe in
            let start = ContinuousClock.now
            try await probe.tell("begin", "label 0")
            var last = 0
            try await expectEventually {
                last += 1
                try await probe.tell("label", "label \(last)")
                return monitor.shown.count >= 4
            }
            #expect(await eventually { monitor.shown.last?.body == "label \(last)" })
            let calls = monitor.shown
            for (earlier, later) in zip(calls, calls.dropFirst()) { #expect(later.body != earlier.body) }
            // At most one each half second after the first one, however slow the machine is.
            #expect(calls.count - 1 <= Int(start.duration(to: .now) / .milliseconds(500)))
            // An invisible change: the same text, the same percentage.
            try await probe.tell("progress", "0.401") { monitor.shown.last?.hints["value"] == "i 40" }
            let count = monitor.shown.count
            try await probe.tell("progress", "0.402")
            try await probe.tell("progress", "0.41") { monitor.shown.last?.hints["value"] == "i 41" }
            #expect(monitor.shown.count == count + 1)
            try await probe.tell("end") { try await server.displayedCount == 0 }
        }
    }

    /// dunst shows the update again, with the same identifier, and reports the close only to the sender.
    @Test("One that the user closes during an update stays closed", arguments: NotificationWay.allCases)
    func closedDuringUpdate(way: NotificationWay) async throws {
        try await onDesktop("expiry=3600", through: way) { server, monitor, probe in
            try await probe.tell("begin", "first") { try await server.displayedCount == 1 }
            server.pause()
            try await server.dismiss(waits: false)
            try await probe.tell("label", "second") { monitor.shown.last?.body == "second" }
            server.resume()
            #expect(try await eventually { try await server.displayedCount == 0 })
            try await probe.follow("end | begin third = 1") { "\(try await server.displayedCount)" }
            #expect(monitor.shown.map(\.body) == ["first", "second", "third"])
        }
    }
}

@Suite struct DesktopNotificationSettingsTests {
    @Test(arguments: [
        ("network-idle", "network-idle"), ("", ""), ("/a b/100%/ä.png", "file:///a%20b/100%25/%C3%A4.png"),
        ("file:///icon.png", "file:///icon.png"), ("~/icons/app.png", "file:///home/me/icons/app.png"),
    ])
    func `An icon is sent as the protocol requires: a name, or a URL`(icon: String, sent: String) {
        #expect(DesktopNotificationSettings(icon: icon).protocolIcon(in: ["HOME": "/home/me"]) == sent)
    }
}
#endif
