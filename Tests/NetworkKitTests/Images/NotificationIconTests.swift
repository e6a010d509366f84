#if Images && DesktopNotification
import Foundation
import NetworkKit
import TestSupport
import Testing

/// An image as the icon of a notification on a real notification server.
@Suite struct NotificationIconTests {
    /// Shows and closes a notification with an icon. Returns the file that the server used, and its warnings.
    private func show(icon: URL) async throws -> (file: String, call: NotifyMonitor.Call?, complaints: String) {
        let bus = try await PrivateBus()
        let server = try await NotificationServer(on: bus)
        let monitor = try await NotifyMonitor(bus)
        let probe = try await DesktopProbe("notification", "icon=\(icon.path)", bus: bus)
        #expect(try await probe.backend("desktopNotification", is: "running"))
        try await probe.tell("begin", "Fetching")
        #expect(try await eventually { try await server.displayedCount == 1 })
        try await probe.tell("end")
        #expect(try await eventually { try await server.historyCount == 1 })
        return (try await server.historyIcons[0], monitor.shown.first, server.complaints)
    }

    @Test func aPNGFileIsUsedAsTheIcon() async throws {
        let folder = try TestFolder()
        let picture = DecodedImage(width: 32, height: 32, rgba: Data(repeating: 0x7F, count: 32 * 32 * 4))
        let file = folder.url.appending(path: "an icon, 100 % ä.png")
        try #require(picture).writePNG(to: file)
        let shown = try await show(icon: file)
        #expect(shown.call?.icon == file.absoluteString)
        #expect(shown.file == file.path)
        #expect(!shown.complaints.lowercased().contains("image"), "\(shown.complaints)")
        #expect(!shown.complaints.lowercased().contains("icon"), "\(shown.complaints)")
    }

    @Test func aFileThatIsNotAnImageCausesAWarning() async throws {
        let folder = try TestFolder()
        let file = folder.url.appending(path: "icon.png")
        try Data("no picture".utf8).write(to: file)
        let shown = try await show(icon: file)
        #expect(shown.complaints.contains(file.path), "\(shown.complaints)")
    }
}
#endif
