import BackendConfiguration
import DisplayText
import CLinux
import CNotify
import Foundation
import IndicatorThreads

/// libnotify, loaded when it is first used, and used while it is healthy: from its first failure on, notifications are
/// sent over D-Bus, for the rest of the process. It only shows and updates notifications; the session closes them.
///
/// One thread makes all calls of libnotify and GLib, because libnotify is not thread-safe and has one connection for
/// the process. Other threads submit commands and get the results as calls of a closure on that thread. All signals are
/// blocked on it. It never ends, and an idle one causes no wake-ups.
///
/// GLib ends the process when it gets no descriptor, and every synchronous call of GDBus needs one. The check before
/// each call cannot prevent that, because another thread may take the last one. Therefore the thread never returns from
/// the fatal message of GLib: it sleeps forever.
final class LibNotify: @unchecked Sendable {
    // `@unchecked`: `state` has a lock. The thread sets `functions`, `context` and `thread` before `isReady`, under
    // that lock, and only then others use them. Everything else is used on the thread only.

    static let shared = LibNotify()

    /// Why libnotify can no longer be used.
    struct Loss: Error, Sendable, Hashable {
        var reason: String
        /// Whether the server has refused the notification, or may show it nevertheless.
        var wasSent = false
    }

    /// The server's identifier of a notification that was shown, otherwise 0.
    typealias Outcome = Result<UInt32, Loss>

    /// One notification on the screen, from its first call of `show` to its end.
    final class Notification: @unchecked Sendable {
        // `@unchecked`: `object` is only used on the thread.
        fileprivate var object: OpaquePointer?
        fileprivate let onClosed: @Sendable (UInt32) -> Void

        /// - Parameter onClosed: called on the thread when the user or the server has closed it, with the reason of
        ///   `NotificationClosed`.
        init(onClosed: @escaping @Sendable (UInt32) -> Void) {
            self.onClosed = onClosed
        }
    }

    /// GLib opens 5 descriptors for a connection and up to 2 during a call; 8 are left to the app.
    private static let descriptorsToOpen = 7 + SpareDescriptors.reserve
    private static let descriptorsToCall = 2 + SpareDescriptors.reserve
    /// GLib starts up to three threads for a connection, and ends the process if it cannot.
    private static let threadsToOpen = 6
    private static let tooFewDescriptors = "the process has too few descriptors left"

    private struct Command {
        var run: @Sendable () -> Outcome
        var completion: @Sendable (Outcome) -> Void
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
    /// The address of the bus of ``connection``.
    private var address = ""
    /// The notifications that have an object.
    private var notifications: [ObjectIdentifier: Notification] = [:]

    private init() {}

    // MARK: - From any thread

    /// Why libnotify must not connect to the session bus at `address`; `nil` if it may.
    func objection(to address: String) -> String? {
        if linux_is_privileged() != 0 { return "the process has more privileges than its user" }
        // GDBus reads the variable itself, and runs `dbus-launch` if there is none, or for `autolaunch:`.
        guard let variable = getenv("DBUS_SESSION_BUS_ADDRESS"), String(cString: variable) == address else {
            return "DBUS_SESSION_BUS_ADDRESS is not the address of the bus"
        }
        let (loss, hasThread) = state.withLock { ($0.loss, $0.hasThread) }
        if let loss { return loss }
        guard !hasThread else { return nil }
        if let library = dlopen("libnotify.so.4", RTLD_LAZY | RTLD_NOLOAD) {
            dlclose(library)
            return "the app itself uses libnotify, which is not thread-safe"
        }
        return SpareDescriptors.exist(Self.descriptorsToOpen) ? nil : Self.tooFewDescriptors
    }

    /// Loads libnotify and connects it to the session bus, unless it is connected.
    ///
    /// - Parameters:
    ///   - address: the address of the session bus.
    ///   - name: the name for `notify_init`, which is used for the app's own notifications, too.
    func open(_ address: String, as name: String, completion: @escaping @Sendable (Outcome) -> Void) {
        submit(completion) { [self] in connect(to: address, as: name) }
    }

    /// Shows a notification, or updates it.
    func show(
        _ message: NotificationMessage,
        as notification: Notification,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        submit(completion) { [self] in show(message, as: notification) }
    }

    /// Releases a notification without closing it.
    func forget(_ notification: Notification) {
        submit({ _ in }) { [self] in
            release(notification)
            return .success(0)
        }
    }

    private func submit(_ completion: @escaping @Sendable (Outcome) -> Void, _ run: @escaping @Sendable () -> Outcome) {
        let (loss, isReady, mustStart) = state.withLock { state in
            guard state.loss == nil else { return (state.loss, false, false) }
            state.commands.append(Command(run: run, completion: completion))
            defer { state.hasThread = true }
            return (nil, state.isReady, !state.hasThread)
        }
        if let loss { return completion(.failure(Loss(reason: loss))) }
        if isReady { functions.g_main_context_wakeup(context) }
        if mustStart, !ThreadStarter.start(named: "ind-libnotify", { self.work() }) {
            lose(Loss(reason: "could not create a thread"))
        }
    }

    // MARK: - The thread

    private func work() {
        guard let library = dlopen("libnotify.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) else {
            let reason = dlerror().map { SafeText.singleLine(String(cString: $0), limit: 200) } ?? ""
            let isMissing = reason.hasPrefix("libnotify.so.4:") && reason.contains("No such file")
            let help = "libnotify is not installed (package libnotify4)"
            return lose(Loss(reason: isMissing ? help : "libnotify cannot be loaded: \(reason)"))
        }
        if let missing = cnotify_find(&functions, { library, name in name.flatMap { dlsym(library, $0) } }, library) {
            return lose(Loss(reason: "libnotify lacks \(String(cString: missing))"))
        }
        thread = pthread_self()
        handleMessages()
        // GLib makes the process ignore SIGPIPE when it prepares its first socket. It sends with MSG_NOSIGNAL anyway.
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        _ = functions.g_type_class_ref(functions.g_socket_get_type())
        sigaction(SIGPIPE, &action, nil)
        context = functions.g_main_context_new()
        // GDBus delivers its signals here, not in the app's main context.
        functions.g_main_context_push_thread_default(context)
        state.withLock { $0.isReady = true }
        while true {
            while let command = nextCommand() {
                switch command.run() {
                case .success(let identifier):
                    state.withLock { $0.current = nil }
                    command.completion(.success(identifier))
                case .failure(let loss): lose(loss)
                }
            }
            _ = functions.g_main_context_iteration(context, 1)
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

    /// Ends the use of libnotify for the rest of the process.
    private func lose(_ loss: Loss) {
        let (current, others) = state.withLock { state in
            state.loss = state.loss ?? loss.reason
            defer { (state.commands, state.current) = ([], nil) }
            return (state.current, state.commands)
        }
        current?(.failure(loss))
        for command in others { command.completion(.failure(Loss(reason: loss.reason))) }
    }

    /// Ends the use of libnotify. The thread sleeps forever, because it may be anywhere inside GLib.
    private func park(_ reason: String) -> Never {
        lose(Loss(reason: reason))
        while true { pause() }
    }

    /// On this thread, an error of GLib ends the use of libnotify. Other threads keep GLib's behaviour.
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
    }

    // MARK: - On the thread: the connection

    private func connect(to address: String, as name: String) -> Outcome {
        if let connection {
            if functions.g_dbus_connection_is_closed(connection) != 0 { return Self.loss(BusError.disconnected.text) }
            // An identifier means nothing to another bus, or another app's notification.
            return address == self.address ? .success(0) : Self.loss("the app was connected to another bus before")
        }
        guard SpareDescriptors.exist(Self.descriptorsToOpen) else { return Self.loss(Self.tooFewDescriptors) }
        guard Self.canStartThreads() else { return Self.loss("the process has too few threads left") }
        var new: OpaquePointer?
        let outcome = attempt { error in
            new = functions.g_bus_get_sync(GBusType(CNOTIFY_BUS_SESSION), nil, error)
            return new == nil ? 0 : 1
        }
        guard let new else { return outcome }
        // Otherwise GLib ends the process with the bus. The reference is kept: without it, libnotify would get a new
        // connection, which ends the process.
        functions.g_dbus_connection_set_exit_on_close(new, 0)
        (connection, self.address) = (new, address)
        _ = functions.notify_init(name)
        return .success(0)
    }

    private static func loss(_ reason: String) -> Outcome { .failure(Loss(reason: reason)) }

    /// Whether the threads for a connection can be started. Starts them, and waits for their end.
    private static func canStartThreads() -> Bool {
        let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        defer { gate.deallocate() }
        pthread_mutex_init(gate, nil)
        pthread_mutex_lock(gate)
        let wait: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { gate in
            guard let gate = gate?.assumingMemoryBound(to: pthread_mutex_t.self) else { return nil }
            pthread_mutex_lock(gate)
            pthread_mutex_unlock(gate)
            return nil
        }
        let threads = (0..<threadsToOpen).compactMap { _ in
            var thread = pthread_t()
            return pthread_create(&thread, nil, wait, gate) == 0 ? thread : nil
        }
        pthread_mutex_unlock(gate)
        for thread in threads { pthread_join(thread, nil) }
        pthread_mutex_destroy(gate)
        return threads.count == threadsToOpen
    }

    private func attempt(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<GError>?>) -> gboolean) -> Outcome {
        var error: UnsafeMutablePointer<GError>?
        guard body(&error) == 0 else { return .success(0) }
        defer { if let error { functions.g_error_free(error) } }
        let text = error.flatMap(\.pointee.message).map { SafeText.singleLine(String(cString: $0), limit: 300) }
        return Self.loss(text ?? "libnotify reports no reason")
    }

    // MARK: - On the thread: notifications

    private func show(_ message: NotificationMessage, as notification: Notification) -> Outcome {
        guard let connection, functions.g_dbus_connection_is_closed(connection) == 0 else {
            return Self.loss(BusError.disconnected.text)
        }
        // It ends the process when it is used uninitialized.
        guard functions.notify_is_initted() != 0 else {
            return Self.loss("the app itself uses libnotify, and has ended its use")
        }
        guard SpareDescriptors.exist(Self.descriptorsToCall) else { return Self.loss(Self.tooFewDescriptors) }
        // Before 0.8.4, libnotify sends the icon as that of the app; since then, only with the other function.
        let setIcon = functions.notify_notification_set_app_icon
        let icon = setIcon == nil ? message.icon : nil
        let object: OpaquePointer
        if let known = notification.object {
            object = known
            _ = functions.notify_notification_update(object, message.summary, message.body, icon)
        } else {
            guard let new = functions.notify_notification_new(message.summary, message.body, icon) else {
                return Self.loss("libnotify made no notification")
            }
            object = new
            add(object, to: notification)
            functions.notify_notification_set_app_name(object, message.applicationName)
        }
        setIcon?(object, message.icon)
        for name in ["value"] + message.hints.map(\.name) {
            let value = message.hints.first { $0.name == name }?.value
            functions.notify_notification_set_hint(object, name, value.flatMap(variant))
        }
        functions.notify_notification_set_timeout(object, message.milliseconds)
        return attempt { functions.notify_notification_show(object, $0) }.mapError { loss in
            Loss(reason: loss.reason, wasSent: true)
        }.map { _ in
            var identifier = GValue()
            _ = functions.g_value_init(&identifier, UInt(CNOTIFY_TYPE_INT))
            functions.g_object_get_property(object, "id", &identifier)
            return UInt32(bitPattern: functions.g_value_get_int(&identifier))
        }
    }

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
            guard let object = notification.object else { return }
            // Negative if libnotify does not know it.
            let reason = LibNotify.shared.functions.notify_notification_get_closed_reason(object)
            notification.onClosed(UInt32(bitPattern: reason))
            LibNotify.shared.release(notification)
        }
        let data = Unmanaged.passUnretained(notification).toOpaque()
        let callback = unsafeBitCast(handler, to: GCallback.self)
        _ = functions.g_signal_connect_data(UnsafeMutableRawPointer(object), "closed", callback, data, nil, 0)
    }

    private func release(_ notification: Notification) {
        guard let object = notification.object.take() else { return }
        functions.g_object_unref(UnsafeMutableRawPointer(object))
        notifications[ObjectIdentifier(notification)] = nil
    }
}
