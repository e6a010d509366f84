import BackendConfiguration
import DisplayText
import CLinux
import CNotify
import Foundation
import IndicatorThreads
import Synchronization

/// libnotify, loaded when it is first used.
///
/// One thread makes all calls of libnotify and GLib, because libnotify is not thread-safe and has one connection for
/// the process. Other threads submit commands and get the results as calls of a closure on that thread. All signals are
/// blocked on it. It never ends, and an idle one causes no wake-ups.
///
/// GLib ends the process when it gets no descriptor, and every synchronous call of GDBus needs one. The check before
/// each call cannot prevent that, because another thread may take the last one. Therefore the thread never returns from
/// the fatal message of GLib: it sleeps forever, and libnotify is lost for the rest of the process.
final class LibNotify: @unchecked Sendable {
    // `@unchecked`: `state` has a lock. The thread sets `functions`, `context` and `thread` before `isReady`, under
    // that lock, and only then others use them. Everything else is used on the thread only.

    static let shared = LibNotify()

    /// The result of a call.
    enum Outcome: Sendable, Hashable {
        /// With the server's identifier of a notification that was shown; otherwise 0.
        case done(UInt32)
        /// There are too few descriptors for this call.
        case skipped
        /// libnotify or the server rejected it.
        case failed(String)
        /// libnotify can no longer be used in this process.
        case lost(String)
    }

    /// One notification on the screen, from its first call of `show` to its end.
    final class Notification: @unchecked Sendable {
        // `@unchecked`: `object` is only used on the thread.
        fileprivate var object: OpaquePointer?
        /// The reason for which it was closed; negative while it is shown.
        fileprivate let closed = Atomic<Int64>(-1)
        fileprivate let onClosed: @Sendable () -> Void

        /// - Parameter onClosed: called on the thread when the user or the server has closed it.
        init(onClosed: @escaping @Sendable () -> Void) {
            self.onClosed = onClosed
        }

        /// Why the user or the server has closed it: the reason of `NotificationClosed`. `nil` while it is shown.
        var closedReason: UInt32? { UInt32(exactly: closed.load(ordering: .acquiring)) }
    }

    /// GLib opens 5 descriptors for a connection and up to 2 during a call; 8 are left to the app.
    private static let descriptorsToOpen = 7 + SpareDescriptors.reserve
    private static let descriptorsToCall = 2 + SpareDescriptors.reserve

    private struct Command {
        var run: @Sendable () -> Outcome
        var completion: @Sendable (Outcome) -> Void
        /// Whether it is repeated until there are enough descriptors for it.
        var isPatient: Bool
    }

    private struct State: Sendable {
        var hasThread = false
        var isReady = false
        /// Why libnotify can no longer be used.
        var loss: String?
        var commands: [Command] = []
        var current: (@Sendable (Outcome) -> Void)?
    }

    private let state = Locked(State())
    private var functions = CNotifyFunctions()
    private var context: OpaquePointer?
    private var thread = pthread_t()
    private var connection: OpaquePointer?
    private var address = ""
    /// Whether libnotify has found the server or the portal.
    private var hasServer = false
    /// Whether GLib has finished with the closed connection. Set on the thread that created the connection, which is
    /// another one if the app did.
    private let sawClosed = Atomic(false)
    private let isPortal = Atomic(false)
    /// The patient commands that lack descriptors.
    private var postponed: [Command] = []
    /// The notifications that have an object.
    private var notifications: [ObjectIdentifier: Notification] = [:]

    private init() {}

    /// Whether notifications are shown by the desktop portal: in a sandbox. Known when ``open(_:completion:)`` has
    /// succeeded.
    var usesPortal: Bool { isPortal.load(ordering: .acquiring) }

    // MARK: - From any thread

    /// Why libnotify must not connect to the session bus at `address`; `nil` if it may.
    func objection(to address: String) -> String? {
        if linux_is_privileged() != 0 { return "the process has more privileges than its user" }
        if let objection = Self.objection(toAddress: address) { return objection }
        let (loss, hasThread) = state.withLock { ($0.loss, $0.hasThread) }
        if let loss { return loss }
        guard !hasThread else { return nil }
        if let library = dlopen("libnotify.so.4", RTLD_LAZY | RTLD_NOLOAD) {
            dlclose(library)
            return "the app itself uses libnotify, which is not thread-safe"
        }
        return SpareDescriptors.exist(Self.descriptorsToOpen) ? nil : "the process has too few descriptors left"
    }

    /// GDBus reads the address itself. It runs `dbus-launch` for `autolaunch:`, in lists, too, and if there is none.
    private static func objection(toAddress address: String) -> String? {
        guard let variable = getenv("DBUS_SESSION_BUS_ADDRESS"), String(cString: variable) == address else {
            return "DBUS_SESSION_BUS_ADDRESS is not the address of the bus"
        }
        let isSocket = address.split(separator: ";", omittingEmptySubsequences: false).allSatisfy {
            $0.hasPrefix("unix:path=") || $0.hasPrefix("unix:abstract=")
        }
        return isSocket ? nil : "the address of the bus is not a Unix socket"
    }

    /// Loads libnotify and connects it to the session bus, unless it is connected.
    ///
    /// - Parameter name: the name for `notify_init`, which is used for the app's own notifications, too, and is in the
    ///   portal a part of all identifiers.
    func open(_ address: String, name: String, completion: @escaping @Sendable (Outcome) -> Void) {
        submit(completion) { [self] in connect(to: address, name: name) }
    }

    /// Shows a notification, or updates it. It replaces the one with the identifier `replaced`, if that is not 0.
    func show(
        _ message: NotificationMessage,
        as notification: Notification,
        replacing replaced: UInt32,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        submit(completion) { [self] in call { show(message, as: notification, replacing: replaced) } }
    }

    /// Shows a notification that is not changed any more. In a sandbox, where nothing else could show it, waits for
    /// descriptors.
    func announce(_ message: NotificationMessage, completion: @escaping @Sendable (Outcome) -> Void) {
        submit(completion, isPatient: usesPortal) { [self] in
            let notification = Notification(onClosed: {})
            defer { if let object = notification.object.take() { release(object, of: notification) } }
            return call { show(message, as: notification, replacing: 0) }
        }
    }

    /// Closes a notification. Afterwards it cannot be shown again. In a sandbox, where nothing else could close it,
    /// waits for descriptors.
    func close(_ notification: Notification, completion: @escaping @Sendable (Outcome) -> Void) {
        let isPatient = usesPortal
        submit(completion, isPatient: isPatient) { [self] in
            guard let object = notification.object.take() else { return .done(0) }
            let outcome = call { attempt { functions.notify_notification_close(object, $0) } }
            if isPatient, outcome == .skipped {
                notification.object = object
            } else {
                release(object, of: notification)
            }
            return outcome
        }
    }

    /// Releases a notification without closing it.
    func forget(_ notification: Notification) {
        submit({ _ in }) { [self] in
            if let object = notification.object.take() { release(object, of: notification) }
            return .done(0)
        }
    }

    private func submit(
        _ completion: @escaping @Sendable (Outcome) -> Void,
        isPatient: Bool = false,
        _ run: @escaping @Sendable () -> Outcome
    ) {
        let (loss, isReady, mustStart) = state.withLock { state in
            guard state.loss == nil else { return (state.loss, false, false) }
            state.commands.append(Command(run: run, completion: completion, isPatient: isPatient))
            defer { state.hasThread = true }
            return (nil, state.isReady, !state.hasThread)
        }
        if let loss { return completion(.lost(loss)) }
        if isReady { functions.g_main_context_wakeup(context) }
        if mustStart, !ThreadStarter.start(named: "ind-libnotify", { self.work() }) {
            fail("could not create a thread")
        }
    }

    // MARK: - The thread

    private func work() {
        guard let library = dlopen("libnotify.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            let reason = dlerror().map { SafeText.singleLine(String(cString: $0), limit: 200) } ?? ""
            return fail(
                reason.hasPrefix("libnotify.so.4:") && reason.contains("No such file")
                    ? "libnotify is not installed (package libnotify4)" : "libnotify cannot be loaded: \(reason)"
            )
        }
        if let missing = cnotify_find(&functions, { library, name in name.flatMap { dlsym(library, $0) } }, library) {
            return fail("libnotify lacks \(String(cString: missing))", isLoss: true)
        }
        thread = pthread_self()
        handleMessages()
        keepSignals { _ = functions.g_type_class_ref(functions.g_socket_get_type()) }
        context = functions.g_main_context_new()
        // GDBus delivers its signals here, not in the app's main context.
        functions.g_main_context_push_thread_default(context)
        state.withLock { $0.isReady = true }
        while true {
            while let command = nextCommand() {
                let outcome = command.run()
                state.withLock { $0.current = nil }
                if outcome == .skipped, command.isPatient {
                    postponed.append(command)
                } else {
                    command.completion(outcome)
                }
            }
            _ = functions.g_main_context_iteration(context, postponed.isEmpty ? 1 : 0)
            if !postponed.isEmpty {
                usleep(100_000)
                state.withLock { [postponed] in $0.commands += postponed }
                postponed = []
            }
        }
    }

    private func nextCommand() -> Command? {
        state.withLock { state in
            guard !state.commands.isEmpty else { return nil }
            let command = state.commands.removeFirst()
            state.current = command.completion
            return command
        }
    }

    /// Ends all commands because libnotify cannot be loaded. The next command tries again, unless it is a loss: the
    /// library stays in the process.
    private func fail(_ reason: String, isLoss: Bool = false) {
        let commands = state.withLock { state in
            state.hasThread = false
            if isLoss { state.loss = reason }
            defer { state.commands = [] }
            return state.commands
        }
        for command in commands { command.completion(.failed(reason)) }
    }

    /// Ends the use of libnotify. The thread sleeps forever, because it may be anywhere inside GLib.
    private func park(_ reason: String) -> Never {
        let completions = state.withLock { state in
            state.loss = reason
            defer { (state.commands, state.current) = ([], nil) }
            return [state.current].compactMap(\.self) + (state.commands + postponed).map(\.completion)
        }
        for completion in completions { completion(.lost(reason)) }
        while true { pause() }
    }

    /// On this thread, an error of GLib ends the use of libnotify, and libnotify's remarks about portals are dropped.
    /// Other threads keep GLib's behaviour.
    private func handleMessages() {
        let all = CNOTIFY_LOG_ERROR | CNOTIFY_LOG_FATAL | CNOTIFY_LOG_RECURSION
        for domain in ["GLib", "GLib-GObject", "GLib-GIO", "libnotify"] {
            _ = functions.g_log_set_handler(
                domain,
                GLogLevelFlags(all),
                { domain, level, message, _ in
                    let service = LibNotify.shared
                    guard pthread_equal(pthread_self(), service.thread) != 0 else {
                        return service.functions.g_log_default_handler(domain, level, message, nil)
                    }
                    let text = message.map { SafeText.singleLine(String(cString: $0), limit: 100) } ?? ""
                    service.park("GLib failed: \(text)")
                },
                nil
            )
        }
        _ = functions.g_log_set_handler(
            "libnotify",
            GLogLevelFlags(CNOTIFY_LOG_OTHERS),
            { domain, level, message, _ in
                let service = LibNotify.shared
                guard pthread_equal(pthread_self(), service.thread) == 0 else { return }
                service.functions.g_log_default_handler(domain, level, message, nil)
            },
            nil
        )
    }

    /// GLib makes the process ignore SIGPIPE when it prepares its first socket, and only then. It sends with
    /// MSG_NOSIGNAL anyway.
    private func keepSignals(during body: () -> Void) {
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        body()
        sigaction(SIGPIPE, &action, nil)
    }

    // MARK: - On the thread: the connection

    private func connect(to address: String, name: String) -> Outcome {
        if let connection {
            if functions.g_dbus_connection_is_closed(connection) == 0 {
                return address == self.address
                    ? findServer() : .failed("the app was connected to another session bus before")
            }
            if usesPortal { return .failed("the bus of the desktop portal was lost") }
            guard disconnect() else { return .failed(Self.heldConnection) }
        }
        // Again, because the environment may have changed.
        if let objection = Self.objection(toAddress: address) { return .failed(objection) }
        guard SpareDescriptors.exist(Self.descriptorsToOpen) else { return .skipped }
        sawClosed.store(false, ordering: .releasing)
        var new: OpaquePointer?
        let outcome = attempt { error in
            new = functions.g_bus_get_sync(GBusType(CNOTIFY_BUS_SESSION), nil, error)
            return new == nil ? 0 : 1
        }
        guard let new else { return outcome }
        guard functions.g_dbus_connection_is_closed(new) == 0 else {
            functions.g_object_unref(UnsafeMutableRawPointer(new))
            return .failed(Self.heldConnection)
        }
        // Otherwise GLib ends the process with the bus. The reference is kept: without it, libnotify would get a new
        // connection, which ends the process.
        functions.g_dbus_connection_set_exit_on_close(new, 0)
        connection = new
        self.address = address
        let handler: @convention(c) (gpointer?, gboolean, gpointer?, gpointer?) -> Void = { _, _, _, _ in
            LibNotify.shared.sawClosed.store(true, ordering: .releasing)
            LibNotify.shared.functions.g_main_context_wakeup(LibNotify.shared.context)
        }
        onSignal("closed", of: new, nil, unsafeBitCast(handler, to: GCallback.self))
        _ = functions.notify_init(name)
        return findServer()
    }

    private static let heldConnection = "another part of the app still uses the bus that was lost"

    private func findServer() -> Outcome {
        guard !hasServer else { return .done(0) }
        guard SpareDescriptors.exist(Self.descriptorsToCall) else { return .skipped }
        var name: UnsafeMutablePointer<CChar>?
        guard functions.notify_get_server_info(&name, nil, nil, nil) != 0, let name else {
            return .failed("libnotify found no server")
        }
        isPortal.store(String(cString: name) == "Portal Notification", ordering: .releasing)
        functions.g_free(name)
        hasServer = true
        return .done(0)
    }

    /// Releases the closed connection, after GLib has finished with it: otherwise GLib returns the same one again.
    /// Returns whether it has: never if the app created the connection on a thread that has no main loop.
    private func disconnect() -> Bool {
        for _ in 0..<100 where !sawClosed.load(ordering: .acquiring) {
            if functions.g_main_context_iteration(context, 0) == 0 { usleep(10_000) }
        }
        guard sawClosed.load(ordering: .acquiring) else { return false }
        for notification in notifications.values {
            if let object = notification.object.take() { release(object, of: notification) }
        }
        functions.notify_uninit()
        functions.g_object_unref(UnsafeMutableRawPointer(connection))
        (connection, hasServer) = (nil, false)
        while functions.g_main_context_iteration(context, 0) != 0 {}
        return true
    }

    /// Makes a call if libnotify can be used.
    private func call(_ body: () -> Outcome) -> Outcome {
        guard let connection, functions.g_dbus_connection_is_closed(connection) == 0 else {
            return .failed(BusError.disconnected.text)
        }
        // It ends the process when it is used uninitialized.
        guard functions.notify_is_initted() != 0 else {
            let loss = "the app itself uses libnotify, and has ended its use"
            state.withLock { $0.loss = loss }
            return .lost(loss)
        }
        return SpareDescriptors.exist(Self.descriptorsToCall) ? body() : .skipped
    }

    private func attempt(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> gboolean) -> Outcome {
        var error: UnsafeMutablePointer<GError>?
        guard body(&error) == 0 else { return .done(0) }
        defer { if let error { functions.g_error_free(error) } }
        let text = error.flatMap(\.pointee.message).map { SafeText.singleLine(String(cString: $0), limit: 300) }
        return .failed(text ?? "libnotify reports no reason")
    }

    private func onSignal(_ name: String, of object: OpaquePointer, _ data: gpointer?, _ handler: GCallback) {
        _ = functions.g_signal_connect_data(UnsafeMutableRawPointer(object), name, handler, data, nil, 0)
    }

    // MARK: - On the thread: notifications

    private func show(
        _ message: NotificationMessage,
        as notification: Notification,
        replacing replaced: UInt32
    ) -> Outcome {
        // Before 0.8.4, libnotify sends the icon as that of the app; since then, only with the other function.
        let setIcon = usesPortal ? nil : functions.notify_notification_set_app_icon
        let icon = setIcon == nil && (!usesPortal || Self.isReadable(icon: message.icon)) ? message.icon : nil
        var identifier = GValue()
        _ = functions.g_value_init(&identifier, UInt(CNOTIFY_TYPE_INT))
        let object: OpaquePointer
        if let known = notification.object {
            object = known
            _ = functions.notify_notification_update(object, message.summary, message.body, icon)
        } else {
            // libnotify's property has a smaller range than the identifiers of D-Bus.
            guard let replaced = Int32(exactly: replaced) else { return .skipped }
            guard let new = functions.notify_notification_new(message.summary, message.body, icon) else {
                return .failed("libnotify made no notification")
            }
            object = new
            add(object, to: notification)
            if replaced != 0 {
                functions.g_value_set_int(&identifier, replaced)
                functions.g_object_set_property(object, "id", &identifier)
            }
            functions.notify_notification_set_app_name(object, message.applicationName)
        }
        setIcon?(object, message.icon)
        for name in ["value"] + message.hints.map(\.name) {
            let value = message.hints.first { $0.name == name }?.value
            functions.notify_notification_set_hint(object, name, value.flatMap(variant))
        }
        // In a sandbox, libnotify would close it itself, in the app's main context.
        functions.notify_notification_set_timeout(object, usesPortal ? -1 : message.milliseconds)
        let outcome = attempt { functions.notify_notification_show(object, $0) }
        guard case .done = outcome else { return outcome }
        functions.g_object_get_property(object, "id", &identifier)
        return .done(UInt32(bitPattern: functions.g_value_get_int(&identifier)))
    }

    /// Whether an icon is a name, or a file that libnotify can read and send to the portal.
    private static func isReadable(icon: String) -> Bool { !icon.hasPrefix("/") || access(icon, R_OK) == 0 }

    private func variant(_ value: BusValue) -> OpaquePointer? {
        switch value {
        case .boolean(let value): functions.g_variant_new_boolean(value ? 1 : 0)
        case .byte(let value): functions.g_variant_new_byte(value)
        case .int32(let value): functions.g_variant_new_int32(value)
        case .string(let value): functions.g_variant_new_string(BusString.valid(value))
        default: nil
        }
    }

    private func add(_ object: OpaquePointer, to notification: Notification) {
        notification.object = object
        notifications[ObjectIdentifier(notification)] = notification
        let handler: @convention(c) (gpointer?, gpointer?) -> Void = { _, data in
            guard let data else { return }
            let notification = Unmanaged<Notification>.fromOpaque(data).takeUnretainedValue()
            // The portal reports it also during a call of `close`.
            guard let object = notification.object.take() else { return }
            // Negative if libnotify does not know it.
            let reason = LibNotify.shared.functions.notify_notification_get_closed_reason(object)
            notification.closed.store(Int64(UInt32(bitPattern: reason)), ordering: .releasing)
            notification.onClosed()
            LibNotify.shared.release(object, of: notification)
        }
        let data = Unmanaged.passUnretained(notification).toOpaque()
        onSignal("closed", of: object, data, unsafeBitCast(handler, to: GCallback.self))
    }

    private func release(_ object: OpaquePointer, of notification: Notification) {
        functions.g_object_unref(UnsafeMutableRawPointer(object))
        notifications[ObjectIdentifier(notification)] = nil
    }
}
