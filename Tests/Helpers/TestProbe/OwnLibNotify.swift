#if DesktopNotification
import CNotify
import Foundation
import IndicatorThreads

/// Another part of the app, which uses libnotify or GLib's bus connection itself.
///
/// Only used by the thread of the probe's commands, apart from the thread of the main loop.
enum OwnLibNotify {
    private nonisolated(unsafe) static var functions = CNotifyFunctions()
    private nonisolated(unsafe) static var notification: OpaquePointer?
    private nonisolated(unsafe) static var connection: OpaquePointer?

    /// Loads libnotify, and runs GLib's main loop on a thread if `mainLoop`.
    static func load(mainLoop: Bool) {
        let library = dlopen("libnotify.so.4", RTLD_NOW)
        let find: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<CChar>?) -> UnsafeMutableRawPointer? = {
            library,
            name in
            name.flatMap { dlsym(library, $0) }
        }
        precondition(library != nil && cnotify_find(&functions, find, library) == nil)
        guard mainLoop else { return }
        _ = ThreadStarter.start(named: "main loop") {
            while true { _ = functions.g_main_context_iteration(nil, 1) }
        }
    }

    /// Shows a notification, and closes the one before. Returns whether that worked.
    static func show(_ text: String) -> Bool {
        guard functions.notify_init("own") != 0 else { return false }
        close()
        notification = functions.notify_notification_new(text, "", nil)
        return functions.notify_notification_show(notification, nil) != 0
    }

    static func close() {
        guard let shown = notification.take() else { return }
        _ = functions.notify_notification_close(shown, nil)
        functions.g_object_unref(UnsafeMutableRawPointer(shown))
    }

    /// Ends the use of libnotify.
    static func end() { functions.notify_uninit() }

    /// Connects to the session bus with GLib only, and keeps the connection. Returns whether it is open.
    static func connect() -> Bool {
        if connection == nil {
            // Not with libnotify: it must not be loaded.
            typealias Get = @convention(c) (Int32, OpaquePointer?, OpaquePointer?) -> OpaquePointer?
            typealias SetExit = @convention(c) (OpaquePointer?, Int32) -> Void
            let library = dlopen("libgio-2.0.so.0", RTLD_NOW)
            guard let get = dlsym(library, "g_bus_get_sync"),
                let setExit = dlsym(library, "g_dbus_connection_set_exit_on_close")
            else { return false }
            connection = unsafeBitCast(get, to: Get.self)(2, nil, nil)
            unsafeBitCast(setExit, to: SetExit.self)(connection, 0)
        }
        return connection != nil
    }
}
#endif
