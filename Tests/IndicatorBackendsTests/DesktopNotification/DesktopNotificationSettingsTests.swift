#if DesktopNotification
import Testing

@testable import IndicatorBackends

@Suite struct DesktopNotificationSettingsTests {
    @Test(
        "An icon is sent as the protocol requires: a name, or a URL",
        arguments: [
            ("network-idle", "network-idle"), ("", ""), ("/a b/100%/ä.png", "file:///a%20b/100%25/%C3%A4.png"),
            ("file:///icon.png", "file:///icon.png"),
        ]
    )
    func icons(icon: String, sent: String) {
        #expect(DesktopNotificationSettings(icon: icon).protocolIcon == sent)
    }

    @Test("In a config file, ~/ is the home folder") func home() throws {
        let settings = BackendSettings(["icon": .string("~/icons/app.png")])
        let read = try DesktopNotificationSettings(settings, environment: ["HOME": "/home/me"])
        #expect(read.icon == "/home/me/icons/app.png")
        #expect(try DesktopNotificationSettings(BackendSettings()).icon == "network-transmit-receive")
    }
}
#endif
