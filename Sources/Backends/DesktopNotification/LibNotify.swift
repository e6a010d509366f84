#if DesktopNotification
import CNotify
import Foundation

/// An error of GLib, of the bus, or of whoever was called on it.
struct GLibError: Error, CustomStringConvertible {
    let description: String

    /// Takes over what a C function has left.
    fileprivate init(taking error: UnsafeMutablePointer<GError>?) {
        guard let error else {
            description = "GLib gives no reason"
            return
        }
        description = error.pointee.message.map { String(cString: $0) } ?? ""
        g_error_free(error)
    }
}

/// A GLib main context: what a thread that uses GLib sleeps in, and what GLib calls back on.
final class GLibContext: @unchecked Sendable {
    // `@unchecked`: GLib locks its contexts; what is not safe on any thread is documented to be for the context's own.
    private let handle: OpaquePointer

    init() {
        guard let handle = g_main_context_new() else { preconditionFailure("GLib made no main context") }
        self.handle = handle
    }

    /// Whether another thread, such as the app's main one, runs GLib's default context now.
    static var isDefaultInUse: Bool {
        guard g_main_context_acquire(g_main_context_default()) != 0 else { return true }
        g_main_context_release(g_main_context_default())
        return false
    }

    /// Makes this the context that GLib calls the present thread back on.
    func enter() { g_main_context_push_thread_default(handle) }

    /// Undoes ``enter()``.
    func leave() { g_main_context_pop_thread_default(handle) }

    /// Sleeps until there is something to do, and does it. On the context's own thread.
    func turn() { g_main_context_iteration(handle, 1) }

    /// Ends the sleep. On any thread.
    func wake() { g_main_context_wakeup(handle) }

    /// Calls `body` on the context's thread, once, after a while. Letting go of the timer cancels it.
    func timer(milliseconds: UInt32, _ body: @escaping () -> Void) -> AnyObject {
        guard let source = g_timeout_source_new(milliseconds) else { preconditionFailure("GLib made no timer") }
        return GLibTimer(source, on: handle, body)
    }
}

private final class GLibTimer {
    private let source: OpaquePointer

    init(_ source: OpaquePointer, on context: OpaquePointer, _ body: @escaping () -> Void) {
        self.source = source
        g_source_set_callback(
            source,
            { box in
                if let box { GLibBox.value(of: box, as: (() -> Void).self)() }
                return 0
            },
            GLibBox(body).retained(),
            GLibBox.release
        )
        g_source_attach(source, context)
    }

    deinit {
        g_source_destroy(source)
        g_source_unref(source)
    }
}

/// The connection to the session bus that all of GLib in this process shares. Used on the notification thread.
final class GLibSessionBus {
    /// A signal that has come in.
    struct Signal {
        var sender: String
        var member: String
        var arguments: [GLibValue]
    }

    private let handle: OpaquePointer
    private var subscriptions: [UInt32] = []
    private var closedHandler: UInt = 0

    /// Takes part in the connection, and makes it if there is none.
    init(onClosed: @escaping () -> Void) throws(GLibError) {
        var error: UnsafeMutablePointer<GError>?
        // GLib makes the whole process ignore SIGPIPE when it makes its first socket. That is the app's to decide: GLib sends
        // with MSG_NOSIGNAL, and the threads that it starts from here block the signal.
        var sigpipe = sigaction()
        sigaction(SIGPIPE, nil, &sigpipe)
        // G_BUS_TYPE_SESSION
        let shared = g_bus_get_sync(2, nil, &error)
        sigaction(SIGPIPE, &sigpipe, nil)
        guard let handle = shared else { throw GLibError(taking: error) }
        self.handle = handle
        // Otherwise GLib ends the process together with the bus.
        g_dbus_connection_set_exit_on_close(handle, 0)
        let callback: @convention(c) (gpointer?, gboolean, gpointer?, gpointer?) -> Void = { _, _, _, box in
            if let box { GLibBox.value(of: box, as: (() -> Void).self)() }
        }
        closedHandler = g_signal_connect_data(
            UnsafeMutableRawPointer(handle),
            "closed",
            unsafeBitCast(callback, to: GCallback.self),
            GLibBox(onClosed).retained(),
            { box, _ in GLibBox.release(box) },
            0
        )
    }

    deinit {
        for subscription in subscriptions { g_dbus_connection_signal_unsubscribe(handle, subscription) }
        g_signal_handler_disconnect(UnsafeMutableRawPointer(handle), closedHandler)
        g_object_unref(UnsafeMutableRawPointer(handle))
    }

    /// Whether the bus is gone. GLib never opens a closed connection again.
    var isClosed: Bool { g_dbus_connection_is_closed(handle) != 0 }

    /// Has `body` called, on this thread's context, for each signal of that name.
    func subscribe(_ interface: String, _ member: String, argument: String? = nil, _ body: @escaping (Signal) -> Void) {
        let subscription = g_dbus_connection_signal_subscribe(
            handle,
            nil,
            interface,
            member,
            nil,
            argument,
            0,
            { _, sender, _, _, member, arguments, box in
                guard let sender, let member, let arguments, let box else { return }
                GLibBox.value(of: box, as: ((Signal) -> Void).self)(
                    Signal(
                        sender: String(cString: sender),
                        member: String(cString: member),
                        arguments: GLibValue.elements(of: arguments)
                    )
                )
            },
            GLibBox(body).retained(),
            GLibBox.release
        )
        subscriptions.append(subscription)
    }

    /// Calls a method and waits for the answer. Starts no service.
    func call(_ method: GLibMethod, timeout milliseconds: Int32) throws(GLibError) -> [GLibValue] {
        var error: UnsafeMutablePointer<GError>?
        let reply = g_dbus_connection_call_sync(
            handle,
            method.destination,
            method.path,
            method.interface,
            method.member,
            GLibValue.tuple(method.arguments),
            nil,
            GLibMethod.noAutoStart,
            milliseconds,
            nil,
            &error
        )
        guard let reply else { throw GLibError(taking: error) }
        defer { g_variant_unref(reply) }
        return GLibValue.elements(of: reply)
    }

    /// Calls a method. `completion` is called on this thread's context when there is an answer, however late, or none can come
    /// any more.
    func call(_ method: GLibMethod, completion: ((Bool) -> Void)?) {
        g_dbus_connection_call(
            handle,
            method.destination,
            method.path,
            method.interface,
            method.member,
            GLibValue.tuple(method.arguments),
            nil,
            GLibMethod.noAutoStart,
            // No time limit: G_MAXINT.
            .max,
            nil,
            completion == nil
                ? nil
                : { connection, result, box in
                    guard let connection, let box else { return }
                    let reply = g_dbus_connection_call_finish(connection, result, nil)
                    if let reply { g_variant_unref(reply) }
                    GLibBox.value(of: box, as: ((Bool) -> Void).self)(reply != nil)
                    GLibBox.release(box)
                },
            completion.map { GLibBox($0).retained() }
        )
    }
}

/// A method of an object on the bus, and what it is called with.
struct GLibMethod {
    var destination: String
    var path: String
    var interface: String
    var member: String
    var arguments: [GLibValue] = []

    /// `G_DBUS_CALL_FLAGS_NO_AUTO_START`
    fileprivate static let noAutoStart: UInt32 = 1
}

/// A value of one of the types that this package sends or reads.
enum GLibValue: Hashable {
    case boolean(Bool)
    case int32(Int32)
    case uint32(UInt32)
    case string(String)
    case strings([String])
    case other

    /// A floating reference: whoever is given it owns it.
    fileprivate var variant: OpaquePointer? {
        switch self {
        case .boolean(let value): g_variant_new_boolean(value ? 1 : 0)
        case .int32(let value): g_variant_new_int32(value)
        case .uint32(let value): g_variant_new_uint32(value)
        case .string(let value): g_variant_new_string(value)
        case .strings, .other: nil
        }
    }

    fileprivate static func tuple(_ values: [GLibValue]) -> OpaquePointer? {
        let variants = values.map(\.variant)
        return g_variant_new_tuple(variants, variants.count)
    }

    fileprivate static func elements(of tuple: OpaquePointer) -> [GLibValue] {
        (0..<g_variant_n_children(tuple)).map { index in
            guard let child = g_variant_get_child_value(tuple, index) else { return .other }
            defer { g_variant_unref(child) }
            switch g_variant_get_type_string(child).map({ String(cString: $0) }) {
            case "s": return .string(g_variant_get_string(child, nil).map { String(cString: $0) } ?? "")
            case "u": return .uint32(g_variant_get_uint32(child))
            case "as":
                return .strings(elements(of: child).compactMap { if case .string(let text) = $0 { text } else { nil } })
            default: return .other
            }
        }
    }
}

/// libnotify itself: one for the process, and without a lock. Used on the notification thread.
enum LibNotify {
    /// Whether libnotify has been initialised, here or by the app.
    static var isInitialised: Bool { notify_is_initted() != 0 }

    static func initialise(applicationName: String) { _ = notify_init(applicationName) }

    /// Lets go of the connection to the bus.
    static func uninitialise() { notify_uninit() }
}

/// A notification, which is on the screen or not. Used on the notification thread.
final class LibNotification {
    private let handle: OpaquePointer

    /// Makes one. The texts must not have a NUL, and `summary` must not be empty.
    init(applicationName: String, summary: String, body: String, icon: String) {
        guard let handle = notify_notification_new(summary, body, icon) else {
            preconditionFailure("libnotify made no notification")
        }
        self.handle = handle
        notify_notification_set_app_name(handle, applicationName)
    }

    deinit {
        g_object_unref(UnsafeMutableRawPointer(handle))
    }

    func setUrgency(_ urgency: UInt32) { notify_notification_set_urgency(handle, urgency) }

    func setCategory(_ category: String) { notify_notification_set_category(handle, category) }

    /// How long it stays, in milliseconds; 0 for as long as nobody closes it.
    func setTimeout(_ milliseconds: Int32) { notify_notification_set_timeout(handle, milliseconds) }

    /// Sets a hint, or takes it away.
    func setHint(_ name: String, _ value: GLibValue?) { notify_notification_set_hint(handle, name, value?.variant) }

    func setTexts(summary: String, body: String, icon: String) {
        _ = notify_notification_update(handle, summary, body, icon)
    }

    /// Shows it, or what has changed of it, and waits until the server has: for 25 seconds if it must be.
    func show() throws(GLibError) {
        var error: UnsafeMutablePointer<GError>?
        guard notify_notification_show(handle, &error) != 0 else { throw GLibError(taking: error) }
    }

    /// What the server calls it; 0 while it is not on the screen.
    var identifier: UInt32 {
        var value = GValue()
        // G_TYPE_INT
        g_value_init(&value, 6 << 2)
        g_object_get_property(handle, "id", &value)
        return UInt32(bitPattern: g_value_get_int(&value))
    }
}

/// A Swift value that C carries around.
private final class GLibBox {
    private let value: Any

    init(_ value: Any) { self.value = value }

    func retained() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    static func value<Value>(of pointer: UnsafeMutableRawPointer, as type: Value.Type) -> Value {
        guard let value = Unmanaged<GLibBox>.fromOpaque(pointer).takeUnretainedValue().value as? Value else {
            preconditionFailure("C has mixed up its pointers")
        }
        return value
    }

    static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { pointer in
        if let pointer { Unmanaged<GLibBox>.fromOpaque(pointer).release() }
    }
}
#endif
