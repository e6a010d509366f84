#if DesktopNotification
import Foundation

/// What the notification thread knows of the session bus, its notification server, and libnotify. Used on that thread only.
///
/// libnotify alone would start a server by accident, wait 25 seconds for one that hangs, go on writing to one that was replaced,
/// and never recover from the loss of the bus. The hub asks first, with a time limit, whether there is a server that answers.
final class NotificationHub {
    private static let busName = "org.freedesktop.DBus"
    private static let serverName = "org.freedesktop.Notifications"
    /// How long the bus and the server may take to answer, in milliseconds.
    private static let answerLimit: Int32 = 1000

    private let context: GLibContext
    private var bus: GLibSessionBus?
    /// The unique name of the server.
    private var owner: String?
    private var capabilities: Set<String> = []
    /// Whether the server has not answered in time and not since.
    private var isHung = false
    private var sessions: [ObjectIdentifier: NotificationSession] = [:]
    /// Notifications that were closed, kept for a while: signals that name them may be on their way to the app's own thread.
    private var closed: [LibNotification] = []
    /// Whether libnotify was initialised here, and not by the app.
    private var hasInitialised = false
    /// Whether libnotify's signals belong on the app's GLib main loop.
    private var belongsToApp = false

    init(context: GLibContext) {
        self.context = context
    }

    // MARK: - The server

    /// Makes sure that there is a server and that it answers. From now on, `session` hears what becomes of it.
    func open(_ session: NotificationSession) throws(DesktopNotificationError) {
        sessions[ObjectIdentifier(session)] = session
        try connect()
        try checkServer()
    }

    /// Lets `session` hear nothing any more.
    func close(_ session: NotificationSession) {
        sessions[ObjectIdentifier(session)] = nil
    }

    /// What the server calls itself, such as `dunst 1.9.0`.
    func serverDescription() throws(DesktopNotificationError) -> String {
        try connect()
        try checkServer()
        guard let bus, let owner else { throw .noServer }
        do throws(GLibError) {
            let reply = try bus.call(.server("GetServerInformation", of: owner), timeout: Self.answerLimit)
            guard reply.count >= 3, case .string(let name) = reply[0], case .string(let version) = reply[2] else {
                return owner
            }
            return "\(name) \(version)"
        } catch {
            throw .notResponding
        }
    }

    /// Whether the server reads markup in the body.
    var readsMarkup: Bool { capabilities.contains("body-markup") }

    /// Calls `body` on this thread after a while, unless the timer is let go of.
    func timer(after delay: Duration, _ body: @escaping () -> Void) -> AnyObject {
        let (seconds, attoseconds) = delay.components
        return context.timer(
            milliseconds: UInt32(clamping: seconds &* 1000 + attoseconds / 1_000_000_000_000_000 + 1),
            body
        )
    }

    private func connect() throws(DesktopNotificationError) {
        if let bus, !bus.isClosed { return }
        if bus != nil { dropConnection() }
        let environment = ProcessInfo.processInfo.environment
        // GLib would launch a bus.
        guard
            environment["DBUS_SESSION_BUS_ADDRESS"].map({ !$0.isEmpty && !$0.hasPrefix("autolaunch:") })
                ?? environment["XDG_RUNTIME_DIR"].map({ FileManager.default.fileExists(atPath: $0 + "/bus") }) ?? false
        else { throw .noSessionBus }
        let bus: GLibSessionBus
        do throws(GLibError) {
            bus = try GLibSessionBus { [weak self] in self?.busWasClosed() }
        } catch {
            throw .busUnreachable(reason: error.description)
        }
        guard !bus.isClosed else { throw .deadConnectionHeld }
        bus.subscribe(Self.busName, "NameOwnerChanged", argument: Self.serverName) { [weak self] in
            self?.ownerChanged($0)
        }
        bus.subscribe(Self.serverName, "NotificationClosed") { [weak self] in self?.notificationWasClosed($0) }
        do throws(GLibError) {
            owner = try ownerNow(on: bus)
        } catch {
            throw .busUnreachable(reason: error.description)
        }
        self.bus = bus
    }

    /// Asks only who has the name: nobody is started for it.
    private func ownerNow(on bus: GLibSessionBus) throws(GLibError) -> String? {
        let names = try bus.call(
            GLibMethod(
                destination: Self.busName,
                path: "/org/freedesktop/DBus",
                interface: Self.busName,
                member: "ListNames"
            ),
            timeout: Self.answerLimit
        )
        guard case .strings(let names)? = names.first, names.contains(Self.serverName) else { return nil }
        let reply = try? bus.call(
            GLibMethod(
                destination: Self.busName,
                path: "/org/freedesktop/DBus",
                interface: Self.busName,
                member: "GetNameOwner",
                arguments: [.string(Self.serverName)]
            ),
            timeout: Self.answerLimit
        )
        guard case .string(let owner)? = reply?.first else { return nil }
        return owner
    }

    private func checkServer() throws(DesktopNotificationError) {
        guard let bus, !bus.isClosed else { throw .busLost }
        guard let owner else { throw .noServer }
        guard !isHung else { throw .notResponding }
        do throws(GLibError) {
            let reply = try bus.call(.server("GetCapabilities", of: owner), timeout: Self.answerLimit)
            if case .strings(let capabilities)? = reply.first { self.capabilities = Set(capabilities) }
        } catch {
            guard !bus.isClosed else { throw .busLost }
            isHung = true
            // The answer to this one comes when the server goes on; until then, nobody needs to ask again.
            bus.call(.server("GetCapabilities", of: owner)) { [weak self] _ in self?.serverAnswers(owner) }
            throw .notResponding
        }
    }

    private func serverAnswers(_ server: String) {
        guard server == owner else { return }
        isHung = false
        for session in sessions.values { session.serverIsThere() }
    }

    private func ownerChanged(_ signal: GLibSessionBus.Signal) {
        guard signal.sender == Self.busName, signal.arguments.count == 3, case .string(let new) = signal.arguments[2]
        else {
            return
        }
        owner = new.isEmpty ? nil : new
        isHung = false
        let isThere = owner != nil
        // libnotify hears of the change by a signal of its own: let that come first.
        NotificationThread.shared.enqueue { hub in
            for session in hub.sessions.values {
                if isThere { session.serverIsThere() } else { session.lost(.noServer) }
            }
        }
    }

    private func notificationWasClosed(_ signal: GLibSessionBus.Signal) {
        guard signal.sender == owner, case .uint32(let identifier)? = signal.arguments.first else { return }
        for session in sessions.values { session.wasClosed(identifier) }
    }

    // MARK: - The bus

    private func busWasClosed() {
        guard bus != nil else { return }
        dropConnection()
        for session in sessions.values { session.lost(.busLost) }
    }

    /// GLib makes a new connection only when nobody holds on to the old one any more.
    private func dropConnection() {
        bus = nil
        owner = nil
        isHung = false
        for session in sessions.values { session.forget() }
        closed = []
        guard hasInitialised, LibNotify.isInitialised else { return }
        LibNotify.uninitialise()
        hasInitialised = false
    }

    // MARK: - Notifications

    /// Shows a notification, a new one or a changed one.
    func show(_ notification: LibNotification) throws(DesktopNotificationError) {
        try connect()
        try checkServer()
        do throws(GLibError) {
            try asLibNotifyExpects { () throws(GLibError) in try notification.show() }
        } catch {
            throw bus?.isClosed == false ? .refused(reason: error.description) : .busLost
        }
    }

    /// Makes a notification, which is not on the screen yet.
    func makeNotification(applicationName: String, summary: String, body: String, icon: String) -> LibNotification {
        if !LibNotify.isInitialised {
            // An app that runs a GLib main loop may use libnotify later on; its callbacks belong there.
            belongsToApp = GLibContext.isDefaultInUse
            LibNotify.initialise(applicationName: applicationName)
            hasInitialised = true
        } else if !hasInitialised {
            belongsToApp = true
        }
        return asLibNotifyExpects {
            LibNotification(applicationName: applicationName, summary: summary, body: body, icon: icon)
        }
    }

    /// Takes a notification off the screen. Does not wait for the server: one that hangs reads it when it goes on.
    func close(_ notification: LibNotification) {
        let identifier = notification.identifier
        if identifier != 0, let bus, let owner {
            bus.call(.server("CloseNotification", of: owner, [.uint32(identifier)]), completion: nil)
        }
        closed.append(notification)
        if closed.count > 16 { closed.removeFirst() }
    }

    /// libnotify keeps the context of the thread that first makes it connect, and has its signals delivered there.
    private func asLibNotifyExpects<Result, E: Error>(_ body: () throws(E) -> Result) throws(E) -> Result {
        guard belongsToApp else { return try body() }
        context.leave()
        defer { context.enter() }
        return try body()
    }
}

extension GLibMethod {
    fileprivate static func server(_ member: String, of owner: String, _ arguments: [GLibValue] = []) -> GLibMethod {
        GLibMethod(
            destination: owner,
            path: "/org/freedesktop/Notifications",
            interface: "org.freedesktop.Notifications",
            member: member,
            arguments: arguments
        )
    }
}
#endif
