#if DBus
import CIndicatorNotify
import Foundation
import IndicatorCore

/// Another part of the app, which uses libnotify or GLib's bus connection itself.
///
/// Only used by the thread of the probe's commands, apart from the thread of the main loop.
enum OwnLibNotify {
    private nonisolated(unsafe) static var functions = CNotifyFunctions()
    private nonisolated(unsafe) static var notification: OpaquePointer?
    private nonisolated(unsafe) static var library: UnsafeMutableRawPointer?

    /// Loads libnotify, and runs GLib's main loop on a thread if `mainLoop`.
    static func load(mainLoop: Bool) {
        let problem = SharedLibrary.load("libnotify.so.4", &functions, cnotify_find)
        library = dlopen("libnotify.so.4", RTLD_NOW)
        precondition(problem == nil && library != nil)
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
        typealias Close = @convention(c) (OpaquePointer, OpaquePointer?) -> Int32
        _ = unsafeBitCast(dlsym(library, "notify_notification_close"), to: Close.self)(shown, nil)
        functions.g_object_unref(UnsafeMutableRawPointer(shown))
    }

    /// Ends the use of libnotify.
    static func end() {
        typealias End = @convention(c) () -> Void
        unsafeBitCast(dlsym(library, "notify_uninit"), to: End.self)()
    }
}
#endif
