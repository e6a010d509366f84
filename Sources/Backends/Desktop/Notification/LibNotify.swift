import BackendConfiguration
import IndicatorCore
import CIndicatorLinux
import CIndicatorNotify
import Foundation

/// libnotify, loaded when it is first used, and used while it is healthy: from its first failure on, notifications are
/// sent over D-Bus, for the rest of the process. It only shows and updates notifications; the session closes them.
///
/// One thread makes all calls of libnotify and GLib, because libnotify is not thread-safe and has one connection for
/// the process. It never ends, and an idle one causes no wake-ups.
///
/// GLib ends the process when it gets no descriptor, and every synchronous call of GDBus needs one. The check before
/// each call cannot prevent that, because another thread may take the last one. Therefore the thread never returns from
/// the fatal message of GLib: it sleeps forever.
final class LibNotify: PollSource, @unchecked Sendable {
    // `@unchecked`: `state` has a lock. Everything else is only used on the thread.

    static let shared = LibNotify()

    /// Why libnotify can no longer be used.
    struct Loss: Error, Sendable, Hashable {
        var reason: String
        /// Whether the server has refused the notification, or may show it nevertheless.
        var wasSent = false
    }

    /// The server's identifier of a notification that was shown, otherwise 0.
    typealias Outcome = Result<UInt32, Loss>

    /// Which session shows one notification at a time, and what handles that the user or the server has closed it: its
    /// identifier, and the reason of `NotificationClosed`. Called on the thread.
    typealias Owner = (session: ObjectIdentifier, onClosed: @Sendable ((identifier: UInt32, reason: UInt32)) -> Void)

    /// GLib opens 5 descriptors for a connection and up to 2 during a call, the thread one; 8 are left to the app.
    private static let descriptorsToOpen = 8 + SpareDescriptors.reserve
    private static let descriptorsToCall = 2 + SpareDescriptors.reserve
    private static let tooFewDescriptors = "the process has too few descriptors left"

    private typealias Call = (run: @Sendable () -> Outcome, completion: @Sendable (Outcome) -> Void)

    /// To which bus it connects, why it can no longer be used, and the calls that have not ended.
    private let state = Locked<(address: String?, loss: String?, calls: [Call])>((nil, nil, []))
    /// Ends without libnotify.
    private let thread = ServiceThread(name: "ind-libnotify", idleTime: .zero)
    private var functions = CNotifyFunctions()
    private var context: OpaquePointer?
    private var pthread = pthread_t()
    private var connection: OpaquePointer?
    /// The last notification of each session: not every server reports to this connection that it was closed.
    private var shown: [ObjectIdentifier: (object: OpaquePointer, identifier: UInt32, owner: Owner)] = [:]

    private init() {}

    // MARK: - From any thread

    /// Why libnotify must not connect to the session bus at `address`; `nil` if it may.
    func objection(to address: String) -> String? {
        if linux_is_privileged() != 0 { return "the process has more privileges than its user" }
        guard Self.busAddress == address else { return "GLib would look for the bus elsewhere, or start one" }
        let state = state.withLock(\.self)
        if let loss = state.loss { return loss }
        // An identifier means nothing to another bus, or another app's notification.
        if let used = state.address { return used == address ? nil : "it is connected to another bus" }
        if let library = dlopen("libnotify.so.4", RTLD_LAZY | RTLD_NOLOAD) {
            dlclose(library)
            return "the app itself uses libnotify, which is not thread-safe"
        }
        if Self.hasApplication() { return "the app is a GApplication, and GLib's connection to the bus is the app's" }
        return SpareDescriptors.exist(Self.descriptorsToOpen) ? nil : Self.tooFewDescriptors
    }

    /// Whether the app is a GApplication, as one of GTK: it may end with the bus, as GLib does by default.
    private static func hasApplication() -> Bool {
        guard let library = dlopen("libgio-2.0.so.0", RTLD_LAZY | RTLD_NOLOAD) else { return false }
        defer { dlclose(library) }
        typealias Default = @convention(c) () -> UnsafeRawPointer?
        guard let symbol = dlsym(library, "g_application_get_default") else { return false }
        return unsafeBitCast(symbol, to: Default.self)() != nil
    }

    /// Where GDBus looks for the session bus; `nil` if it would run `dbus-launch`, as it does for `autolaunch:`, too.
    private static var busAddress: String? {
        if let variable = getenv("DBUS_SESSION_BUS_ADDRESS") { return String(cString: variable) }
        var status = stat()
        guard let folder = getenv("XDG_RUNTIME_DIR").map({ String(cString: $0) }), stat("\(folder)/bus", &status) == 0,
            status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid()
        else { return nil }
        return "unix:path=\(BusSocket.escaped("\(folder)/bus"))"
    }

    /// Loads libnotify and connects it to the session bus, unless it is connected.
    ///
    /// - Parameters:
    ///   - address: the address of the bus, without an objection.
    ///   - name: the name for `notify_init`, which is used for the app's own notifications, too.
    func open(_ address: String, as name: String, completion: @escaping @Sendable (Outcome) -> Void) {
        state.withLock { $0.address = address }
        submit(completion) { [self] in connection == nil ? load().flatMap { _ in connect(as: name) } : check() }
    }

    /// Shows a notification, or updates the one with this identifier.
    ///
    /// - Parameter owner: `nil` if it is not updated.
    func show(
        _ message: NotificationMessage,
        replacing identifier: UInt32,
        for owner: Owner?,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        submit(completion) { [self] in check().flatMap { _ in show(message, replacing: identifier, for: owner) } }
    }

    private func submit(_ completion: @escaping @Sendable (Outcome) -> Void, _ run: @escaping @Sendable () -> Outcome) {
        let loss = state.withLock { state in
            if state.loss == nil { state.calls.append((run, completion)) }
            return state.loss
        }
        // The thread may sleep forever.
        if let loss { return completion(Self.loss(loss)) }
        thread.call(at: .min) { [self] in
            let (loss, call) = state.withLock { ($0.loss, $0.calls.first) }
            if let call { _ = finish(loss.map(Self.loss) ?? call.run()) }
        }
    }

    // MARK: - The thread

    /// Ends a call; returns whether there was one. After a failure, libnotify is not used for the rest of the process.
    private func finish(_ outcome: Outcome) -> Bool {
        let call = state.withLock { state in
            if case .failure(let loss) = outcome { state.loss = state.loss ?? loss.reason }
            return state.calls.isEmpty ? nil : state.calls.removeFirst()
        }
        call?.completion(outcome)
        return call != nil
    }

    static func loss(_ reason: String) -> Outcome { .failure(Loss(reason: reason)) }

    private func load() -> Outcome {
        if let problem = SharedLibrary.load("libnotify.so.4", &functions, cnotify_find) {
            let reason = SafeText.singleLine(problem, limit: 200)
            return Self.loss("libnotify (package libnotify4) cannot be loaded: \(reason)")
        }
        pthread = pthread_self()
        StandardStreams.openMissing()
        handleMessages()
        // GLib makes the process ignore SIGPIPE when it prepares its first socket. It sends with MSG_NOSIGNAL anyway.
        var action = sigaction()
        sigaction(SIGPIPE, nil, &action)
        _ = functions.g_type_class_ref(functions.g_socket_get_type())
        sigaction(SIGPIPE, &action, nil)
        context = functions.g_main_context_new()
        // GDBus delivers its signals here, not in the app's main context, and wakes the owner.
        functions.g_main_context_push_thread_default(context)
        _ = functions.g_main_context_acquire(context)
        return thread.add(self) ? .success(0) : Self.loss(Self.tooFewDescriptors)
    }

    /// Delivers GDBus's signals; for the next ones, GLib has one descriptor.
    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        while functions.g_main_context_iteration(context, 0) != 0 {}
        var (descriptor, timeout) = (CNotifyPollFD(), Int32(0))
        _ = functions.g_main_context_query(context, .max, &timeout, &descriptor, 1)
        return ([pollfd(fd: descriptor.fd, events: Int16(POLLIN), revents: 0)], nil)
    }

    func turn(_ descriptors: [pollfd]) {}

    /// On this thread, an error of GLib ends the use of libnotify. Other threads keep GLib's behaviour.
    private func handleMessages() {
        let all = CNOTIFY_LOG_ERROR | CNOTIFY_LOG_FATAL | CNOTIFY_LOG_RECURSION
        for domain in ["GLib", "GLib-GObject", "GLib-GIO", "libnotify"] {
            _ = functions.g_log_set_handler(
                domain,
                all,
                { domain, level, message, _ in
                    let service = LibNotify.shared
                    guard pthread_equal(pthread_self(), service.pthread) != 0 else {
                        return service.functions.g_log_default_handler(domain, level, message, nil)
                    }
                    let text = message.map { SafeText.singleLine(String(cString: $0), limit: 100) } ?? ""
                    while service.finish(LibNotify.loss("GLib failed: \(text)")) {}
                    // Forever, because it may be anywhere inside GLib.
                    while true { pause() }
                },
                nil
            )
        }
    }

    // MARK: - On the thread: the connection

    private func connect(as name: String) -> Outcome {
        StandardStreams.openMissing()
        return attempt { error in
            connection = functions.g_bus_get_sync(CNOTIFY_BUS_SESSION, nil, error)
            guard let connection else { return 0 }
            // Otherwise GLib ends the process with the bus. The reference is kept: without it, libnotify would get a
            // new connection, which ends the process.
            functions.g_dbus_connection_set_exit_on_close(connection, 0)
            return functions.notify_init(name)
        }
    }

    /// Whether libnotify can be called.
    private func check() -> Outcome {
        guard let connection, functions.g_dbus_connection_is_closed(connection) == 0 else {
            return Self.loss(BusError.disconnected.text)
        }
        // It ends the process when it is used uninitialized.
        guard functions.notify_is_initted() != 0 else {
            return Self.loss("the app itself uses libnotify, and has ended its use")
        }
        return SpareDescriptors.exist(Self.descriptorsToCall) ? .success(0) : Self.loss(Self.tooFewDescriptors)
    }

    private func attempt(_ body: (UnsafeMutablePointer<UnsafeMutablePointer<CNotifyError>?>) -> Int32) -> Outcome {
        var error: UnsafeMutablePointer<CNotifyError>?
        guard body(&error) == 0 else { return .success(0) }
        defer { if let error { functions.g_error_free(error) } }
        let text = error.flatMap(\.pointee.message).map { SafeText.singleLine(String(cString: $0), limit: 300) }
        return Self.loss(text ?? "libnotify reports no reason")
    }

    // MARK: - On the thread: notifications

    private func show(_ message: NotificationMessage, replacing former: UInt32, for owner: Owner?) -> Outcome {
        // Before 0.8.4, libnotify sends the icon as that of the app; since then, only with the other function.
        let setIcon = functions.notify_notification_set_app_icon
        let icon = setIcon == nil ? message.icon : nil
        let object: OpaquePointer
        if let owner, let known = shown[owner.session], known.identifier == former {
            object = known.object
            _ = functions.notify_notification_update(object, message.summary, message.body, icon)
        } else {
            guard let new = functions.notify_notification_new(message.summary, message.body, icon) else {
                return Self.loss("libnotify made no notification")
            }
            object = new
            functions.notify_notification_set_app_name(object, message.applicationName)
            let handler: @convention(c) (OpaquePointer?) -> Void = { LibNotify.shared.wasClosed($0) }
            let callback = unsafeBitCast(handler, to: CNotifyCallback.self)
            _ = functions.g_signal_connect_data(UnsafeMutableRawPointer(object), "closed", callback, nil, nil, 0)
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
            var value = CNotifyValue()
            _ = functions.g_value_init(&value, CNOTIFY_TYPE_INT)
            functions.g_object_get_property(object, "id", &value)
            let identifier = UInt32(bitPattern: functions.g_value_get_int(&value))
            var last: OpaquePointer? = object
            if let owner { last = shown.updateValue((object, identifier, owner), forKey: owner.session)?.object }
            if let last, owner == nil || last != object { functions.g_object_unref(UnsafeMutableRawPointer(last)) }
            return identifier
        }
    }

    private func wasClosed(_ object: OpaquePointer?) {
        guard let (session, entry) = shown.first(where: { $0.value.object == object }) else { return }
        // Negative if libnotify does not know it.
        let reason = functions.notify_notification_get_closed_reason(entry.object)
        shown[session] = nil
        functions.g_object_unref(UnsafeMutableRawPointer(entry.object))
        entry.owner.onClosed((entry.identifier, UInt32(bitPattern: reason)))
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
}
