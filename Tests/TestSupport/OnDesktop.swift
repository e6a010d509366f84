/// Runs a test on a session bus with dunst, where an app sends notifications. At the end, the app is shut down, and
/// nothing is left on the screen.
///
/// - Parameters:
///   - parts: further parts of the app, with spaces between them, as of ``DesktopProbe``.
///   - way: how it sends notifications.
///   - environment: further variables of the app.
///   - markup: whether dunst supports markup.
///   - count: how many notifications stay on the screen.
///   - body: the test, with the server, what that receives, and the app, whose backend is running.
package func onDesktop(
    _ parts: String = "",
    through way: NotificationWay = .auto,
    environment: [String: String] = [:],
    markup: Bool = true,
    leaving count: Int = 0,
    at location: SourceLocation = #_sourceLocation,
    _ body: (NotificationServer, NotifyMonitor, DesktopProbe) async throws -> Void
) async throws {
    let bus = try await PrivateBus()
    let server = try await NotificationServer(on: bus, markup: markup)
    let monitor = try await NotifyMonitor(bus)
    let probe = try await DesktopProbe.notifying(parts, through: way, environment: environment, on: bus)
    try await body(server, monitor, probe)
    if probe.isRunning { try await probe.shutdown() }
    try await expectEventually("left on the screen", at: location) { try await server.displayedCount == count }
}

extension DesktopProbe {
    /// An app that sends notifications, whose backend is running, with further parts.
    package static func notifying(
        _ parts: String = "",
        through way: NotificationWay = .auto,
        environment: [String: String] = [:],
        on bus: PrivateBus
    ) async throws -> DesktopProbe {
        let name = "desktopNotification"
        return try await .init("notification", parts, through: way, environment: environment, bus: bus, running: name)
    }
}
