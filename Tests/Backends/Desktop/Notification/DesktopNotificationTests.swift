#if DBus
@testable import IndicatorCore
import TestSupport

@testable import BackendConfiguration
@testable import DesktopBackends

/// The notification, as dunst shows it.
@Suite(.needs(.notifications)) struct DesktopNotificationTests {
    private static let scripts: Table = """
        Shown once, updated in place, closed; the next time, another one
          begin Fetching = Fetching | label Unpacking = Unpacking
          progress 0.4 ~ +Fetching, Unpacking, Unpacking 40% 40 | end = nothing | begin Again = Again
          ~ +Fetching, Unpacking, Unpacking 40% 40, +Again
        A request for the user's attention has normal urgency
          begin Signing = Signing | attention Key? = Signing: Key? | attention = Signing
          ~ +Signing, Signing: Key?!, Signing
        An invisible change of the progress is not sent
          begin work = work | progress 0.401 = work 40% | progress 0.402 | progress 0.41 = work 41%
          ~ +work, work 40% 40, work 41% 41
        // dunst shows the update again, with the same identifier, and reports the close only to the sender.
        One that the user closes during an update stays closed
          begin first = first | server pause | server dismiss | label second ~ +first, second
          server resume = nothing | end | begin third = third | ~ +first, second, +third
        A server that hangs delays nothing, is reported, and is used again
          begin before = before | server pause | label hanging ? unavailable: the notification server does not
          deliver label one | deliver label two | deliver label after ? unavailable
          server resume ? running | progress 0 = after 0% | end = nothing
        A notification that a resuming server shows late is closed; one remains
          server pause | begin late ? does not answer | server resume ~ +late, +late | = late
        A server that replaces another during updates keeps no notification
          begin first = first | label lost | server kill | label between | server start | label after = after
          end = nothing | begin second = second | label lost | server kill | label between | server start
          label after = after
        """

    @Test(arguments: scripts, NotificationWay.allCases)
    func `dunst shows what happens`(_ row: (sentence: String, script: String), way: NotificationWay) async throws {
        // On a busy machine, one with the default expiry would be renewed meanwhile, every 35 s.
        try await onDesktop("expiry=3600", through: way) { desk in
            try await desk.follow(row.script)
            #expect(desk.shown.allSatisfy { $0.hints["suppress-sound"] == "b 1" && $0.hints["sound-name"] == nil })
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `Each part of the notification, and its end`(way: NotificationWay) async throws {
        try await onDesktop(through: way) { desk in
            try await desk.follow("begin Fetching = Fetching | progress 0.4 = Fetching 40%")
            #expect(try await desk.server.historyCount == 0)
            try await desk.follow("end = nothing")
            #expect(try await desk.server.history("summary", "body", "progress") == ["probe|Fetching 40%|40"])
            try await desk.monitor.catchUp()
            #expect(desk.monitor.calls.last?.member == "CloseNotification")
            let first = try #require(desk.shown.first)
            #expect(first.summary == "probe" && first.applicationName == "probe")
            #expect(first.icon == "network-transmit-receive" && first.timeout == 55_000)
            let hints = ["urgency": "y 0", "transient": "b 1", "category": "s transfer", "suppress-sound": "b 1"]
            #expect(first.hints.filter { $0.key != "sender-pid" } == hints)
        }
    }

    @Test(arguments: NotificationWay.allCases)
    func `The last text stays until the notification is closed, and before that the outcome is shown`(
        way: NotificationWay
    ) async throws {
        // In the completion delay, there is time for an update. After a close, swaync would lose the outcome.
        try await onDesktop("completion=2 outcomes", through: way, leaving: 1) { desk in
            try await desk.follow("begin work = work")
            try await desk.probe.tell("succeed") { desk.monitor.calls.last?.member == "CloseNotification" }
            #expect(desk.monitor.calls.map(\.member) == ["Notify", "Notify", "CloseNotification"])
            #expect(!desk.shown.contains { $0.body.isEmpty }, "\(desk.shown)")
        }
    }

    @Test func `With 'live: false', only the outcome is shown`() async throws {
        let folder = try TemporaryDirectory()
        let settings = "{live: false, after: 0}"
        let config = try folder.write(
            "startDelay: 0\nbackends: [desktopNotification]\ndesktopNotification: \(settings)\n",
            to: "config.yaml"
        )
        try await onDesktop("config=\(config)", leaving: 1) { desk in
            try await desk.probe.follow("begin work | end")
            #expect(await eventually { !desk.shown.isEmpty })
            try await desk.shutdown()
            #expect(desk.shown.count == 1 && desk.shown[0].body.hasPrefix("Ended"), "\(desk.shown)")
        }
    }

    private static let labels = [
        "<b>&amp; \"quoted\"", "</b></markup> 1 < 2 && 3 > 2", "<img src=\"file:///etc/passwd\"/>",
        "\u{1B}]0;x\u{07}\u{08}bell",
        "family 👩‍👩‍👧‍👦 e\u{301}", "مرحبا \u{202E}gnp.exe", "{app} {unknown}", "%s%n%d", "noncharacter \u{FFFE}",
    ]

    @Test(arguments: [true, false], NotificationWay.allCases)
    func `No label is read as markup, whatever the server supports`(markup: Bool, way: NotificationWay) async throws {
        let server = { bus in try await NotificationServer(on: bus, markup: markup) }
        try await onDesktop(through: way, server: server) { desk in
            for label in Self.labels {
                let text = SafeText.singleLine(label, limit: 300)
                let body = markup ? SafeText.markup(text) : text
                try await desk.probe.tell("begin", label) { desk.shown.last?.body == body }
                try await desk.follow("end = nothing")
            }
            try await desk.follow("begin long")
            try await desk.probe.tell("long", "<&漢") { (desk.shown.last?.body.count ?? 0) >= 300 }
            #expect(desk.shown.last?.body.unicodeScalars.count ?? .max < 3000)
            #expect(try await eventually { try await desk.server.displayedCount == 1 })
            try await desk.follow("? running")
            if markup { #expect(!desk.server.complaints.contains("Unable to parse markup")) }
        }
    }

    @Test(
        "Updated twice a second at most, only by a change, and to the current text",
        arguments: NotificationWay.allCases
    )
    func coalesced(way: NotificationWay) async throws {
        // On a busy machine, the default one would be renewed meanwhile, every 35 s.
        try await onDesktop("expiry=3600", through: way) { desk in
            let start = ContinuousClock.now
            try await desk.probe.tell("begin", "label 0")
            var last = 0
            try await expectEventually {
                last += 1
                try await desk.probe.tell("label", "label \(last)")
                return desk.shown.count >= 4
            }
            #expect(await eventually { desk.shown.last?.body == "label \(last)" })
            let calls = desk.shown
            for (earlier, later) in zip(calls, calls.dropFirst()) { #expect(later.body != earlier.body) }
            // At most one each half second after the first one, however slow the machine is.
            #expect(calls.count - 1 <= Int(start.duration(to: .now) / .milliseconds(500)))
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
