import Foundation
import IndicatorCore

#if DesktopNotification
import CNotify
#endif
#if DBus
import CDBus
#endif

/// The rest of the app: it uses libnotify, libdbus and a GLib main loop for purposes of its own, and wants no surprises.
final class Neighbour: Sendable {
    private struct State: Sendable {
        /// The thread that runs GLib's main loop.
        var loop: pthread_t?
        /// The threads on which the app's notification was reported closed.
        var closedOn: [pthread_t] = []
        nonisolated(unsafe) var notification: OpaquePointer?
        nonisolated(unsafe) var bus: OpaquePointer?
        // `nonisolated(unsafe)`: used by the thread of the probe's commands only.
    }

    private let state = Locked(State())

    /// Runs GLib's main loop, as an app with windows does.
    func runMainLoop() {
        #if DesktopNotification
        let runs = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [self] in
            state.withLock { $0.loop = pthread_self() }
            // Held for good, as `g_main_loop_run` does.
            g_main_context_acquire(nil)
            runs.signal()
            while true { g_main_context_iteration(nil, 1) }
        }
        runs.wait()
        #endif
    }

    /// Whether libnotify is as the app has left it.
    var isStillInitialised: Bool {
        #if DesktopNotification
        notify_is_initted() != 0
        #else
        true
        #endif
    }

    /// Begins to use the libraries: a notification goes up, a connection to the session bus is made.
    func begin() {
        #if DesktopNotification
        _ = notify_init("neighbour")
        let notification = notify_notification_new("Neighbour", "of the indicator", nil)
        notify_notification_set_timeout(notification, 0)
        let closed: @convention(c) (gpointer?, gpointer?) -> Void = { _, context in
            guard let context else { return }
            let neighbour = Unmanaged<Neighbour>.fromOpaque(context).takeUnretainedValue()
            neighbour.state.withLock { $0.closedOn.append(pthread_self()) }
        }
        g_signal_connect_data(
            notification.map { UnsafeMutableRawPointer($0) },
            "closed",
            unsafeBitCast(closed, to: GCallback.self),
            Unmanaged.passUnretained(self).toOpaque(),
            nil,
            0
        )
        _ = notify_notification_show(notification, nil)
        state.withLock { $0.notification = notification }
        #endif
        #if DBus
        state.withLock { $0.bus = dbus_bus_get(DBUS_BUS_SESSION, nil) }
        #endif
    }

    /// What is not as it should be; `ok` when everything is.
    func check() -> String {
        var faults: [String] = []
        #if DBus
        let bus = state.withLock { $0.bus }
        if bus == nil || dbus_bus_name_has_owner(bus, "org.freedesktop.DBus", nil) == 0 {
            faults.append("the connection to the bus does not work")
        }
        #endif
        #if DesktopNotification
        let notification = state.withLock { $0.notification }
        if notify_is_initted() == 0 { faults.append("libnotify is not initialised") }
        _ = notify_notification_update(notification, "Neighbour", "changed", nil)
        var error: UnsafeMutablePointer<GError>?
        if notify_notification_show(notification, &error) == 0 { faults.append("the notification cannot be updated") }
        if !state.withLock({ $0.closedOn }).isEmpty { faults.append("the notification was closed by somebody else") }
        if notify_notification_close(notification, &error) == 0 { faults.append("the notification cannot be closed") }
        for _ in 0..<500 where state.withLock({ $0.closedOn }).isEmpty { usleep(10_000) }
        let (threads, loop) = state.withLock { ($0.closedOn, $0.loop) }
        if threads.count != 1 { faults.append("closed was reported \(threads.count) times") }
        if threads.contains(where: { $0 != loop }) { faults.append("closed was reported on another thread") }
        #endif
        return faults.isEmpty ? "ok" : faults.joined(separator: "; ")
    }
}
