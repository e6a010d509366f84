import BackendConfiguration
import DisplayText
import CIndicatorDBus
import Foundation
import IndicatorThreads

/// libdbus, loaded when it is first used. Without it there are no connections, and so no messages.
let dbus = LibDBus.loaded.functions

enum LibDBus {
    fileprivate static let loaded: (functions: CDBusFunctions, problem: String?) = {
        var functions = CDBusFunctions()
        if let problem = load(&functions) { return (functions, problem) }
        // Otherwise libdbus makes the process ignore SIGPIPE when it connects. It sends with MSG_NOSIGNAL anyway.
        functions.connection_set_change_sigpipe(0)
        return (functions, functions.threads_init_default() == 0 ? "there is no memory" : nil)
    }()

    /// Why libdbus cannot be used. Only success is remembered: the process may have had no descriptor left.
    static var problem: String? {
        guard SpareDescriptors.exist() else { return SpareDescriptors.problem }
        var functions = CDBusFunctions()
        return load(&functions) ?? loaded.problem
    }

    private static func load(_ functions: inout CDBusFunctions) -> String? {
        SharedLibrary.load("libdbus-1.so.3", &functions, cdbus_find)
    }
}

/// A D-Bus message.
public final class BusMessage {
    // Owns a reference to it.
    fileprivate let handle: OpaquePointer

    init(owning handle: OpaquePointer) {
        self.handle = handle
    }

    fileprivate convenience init(retaining handle: OpaquePointer) {
        _ = dbus.message_ref(handle)
        self.init(owning: handle)
    }

    deinit {
        dbus.message_unref(handle)
    }

    /// A method call; `nil` if the destination or the path, which may come from a bus, is invalid.
    ///
    /// No service is started to answer it.
    ///
    /// - Precondition: the other names are valid: libdbus would end the process.
    public static func call(
        _ destination: String,
        path: String,
        interface: String,
        member: String,
        _ arguments: [BusValue] = []
    ) -> BusMessage? {
        guard dbus.validate_bus_name(destination, nil) != 0, dbus.validate_path(path, nil) != 0 else { return nil }
        let handle = dbus.message_new_method_call(destination, path, interface, member)
        if let handle { dbus.message_set_auto_start(handle, 0) }
        return BusMessage(made: handle, arguments)
    }

    /// A call of a method of the bus itself, such as `RequestName`.
    public static func busCall(_ member: String, _ arguments: [BusValue] = []) -> BusMessage? {
        .call(
            "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            member: member,
            arguments
        )
    }

    /// A signal.
    ///
    /// - Precondition: the path and the names are valid.
    public static func signal(path: String, interface: String, member: String, _ arguments: [BusValue]) -> BusMessage {
        BusMessage(made: dbus.message_new_signal(path, interface, member), arguments)
    }

    /// The reply to this call; `nil` if the caller expects none.
    func reply(_ arguments: [BusValue]) -> BusMessage? {
        guard dbus.message_get_no_reply(handle) == 0 else { return nil }
        return BusMessage(made: dbus.message_new_method_return(handle), arguments)
    }

    /// The error reply to this call; `nil` if the caller expects none.
    func reply(_ error: BusError) -> BusMessage? {
        guard dbus.message_get_no_reply(handle) == 0 else { return nil }
        return BusMessage(made: dbus.message_new_error(handle, error.name, BusString.valid(error.text)), [])
    }

    private convenience init(made handle: OpaquePointer?, _ arguments: [BusValue]) {
        // libdbus returns no message for an invalid name or without memory; neither can be handled.
        guard let handle else { preconditionFailure("libdbus created no message: a name is invalid") }
        self.init(owning: handle)
        var iterator = CDBusMessageIter()
        dbus.message_iter_init_append(handle, &iterator)
        for argument in arguments { BusCoding.append(argument, to: &iterator) }
    }

    /// The interface of a call or a signal.
    public var interface: String? { dbus.message_get_interface(handle).map { String(cString: $0) } }
    /// The name of the method or the signal.
    public var member: String? { dbus.message_get_member(handle).map { String(cString: $0) } }
    /// The path of the object.
    public var path: String? { dbus.message_get_path(handle).map { String(cString: $0) } }
    /// The unique name of the connection that has sent it.
    public var sender: String? { dbus.message_get_sender(handle).map { String(cString: $0) } }

    /// The error, if the message is an error reply.
    package var error: BusError? {
        guard dbus.message_get_type(handle) == CDBUS_MESSAGE_TYPE_ERROR else { return nil }
        let name = dbus.message_get_error_name(handle).map { String(cString: $0) } ?? ""
        return BusError(name: name, ofPeer: arguments.first?.text ?? "")
    }

    /// The signature of the arguments.
    public var signature: String { dbus.message_get_signature(handle).map { String(cString: $0) } ?? "" }

    /// The arguments, decoded on every access: check the ``signature`` first. Of more than 4 MiB, the rest is dropped,
    /// because peers on a bus are not trusted.
    public var arguments: [BusValue] {
        var iterator = CDBusMessageIter()
        guard dbus.message_iter_init(handle, &iterator) != 0 else { return [] }
        var decoder = BusDecoder()
        return decoder.values(&iterator)
    }
}

extension BusMessage {
    /// The descriptor that the message consists of, if it does: a copy, which is closed when the handle is deallocated.
    var descriptor: FileHandle? {
        var iterator = CDBusMessageIter()
        guard signature == "h", dbus.message_iter_init(handle, &iterator) != 0 else { return nil }
        var number: Int32 = -1
        dbus.message_iter_get_basic(&iterator, &number)
        return number < 0 ? nil : FileHandle(fileDescriptor: number, closeOnDealloc: true)
    }
}

/// A private connection to a bus, and the calls that wait for a reply on it. Only used on one thread.
///
/// In the app that is the thread of the bus, which waits for it together with its work: an idle connection causes no
/// wake-ups.
final class LibDBusConnection: PollSource {
    /// Handles the reply to a call, or its failure.
    typealias Completion = (Result<BusMessage, BusError>) -> Void
    typealias MessageHandler = (BusMessage) -> Void

    private struct Call {
        var reply: BusPendingReply
        /// When the call fails with ``BusError/noReply``; `nil` for never.
        var deadline: SuspendingClock.Instant?
        var completion: Completion
    }

    /// Called at the end of each turn.
    var onTurn: () -> Void = {}
    /// When to turn in any case, besides the time limits of calls.
    var nextDeadline: () -> SuspendingClock.Instant? = { nil }

    private let handle: OpaquePointer
    private let sources = BusSources()
    private let onSignal: Box<MessageHandler>
    private var onCalls: [Box<MessageHandler>] = []
    private var calls: [Call] = []
    /// Whether the connection has ended, and its calls have failed.
    private var hasEnded = false

    /// Connects to a bus, without calling `Hello`.
    init(address: String, onSignal: @escaping MessageHandler = { _ in }) throws(BusError) {
        if BusSocket.wouldBlock(address) { throw .notAccepting }
        self.onSignal = Box(onSignal)
        StandardStreams.openMissing()
        var error = LibDBusError()
        guard let opened = dbus.connection_open_private(address, &error.value) else { throw error.take() }
        handle = opened
        // Otherwise libdbus exits the process when the bus ends.
        dbus.connection_set_exit_on_disconnect(handle, 0)
        sources.install(on: handle)
        _ = dbus.connection_add_filter(
            handle,
            { _, message, context in
                guard let message, let context, dbus.message_get_type(message) == CDBUS_MESSAGE_TYPE_SIGNAL else {
                    return CDBUS_HANDLER_RESULT_NOT_YET_HANDLED
                }
                let signal = BusMessage(retaining: message)
                Unmanaged<Box<MessageHandler>>.fromOpaque(context).takeUnretainedValue().value(signal)
                return CDBUS_HANDLER_RESULT_NOT_YET_HANDLED
            },
            Unmanaged.passUnretained(self.onSignal).toOpaque(),
            nil
        )
    }

    deinit {
        dbus.connection_close(handle)
        // Calls the handlers a last time, and completes the pending calls.
        while dbus.connection_dispatch(handle) == CDBUS_DISPATCH_DATA_REMAINS {}
        dbus.connection_unref(handle)
        withExtendedLifetime((sources, onSignal, onCalls)) {}
    }

    /// Whether the connection is open.
    var isConnected: Bool { dbus.connection_get_is_connected(handle) != 0 }
    /// The number of unsent bytes.
    var outgoingBytes: Int { Int(dbus.connection_get_outgoing_size(handle)) }
    /// Whether there are unsent messages.
    var hasOutgoing: Bool { dbus.connection_has_messages_to_send(handle) != 0 }
    /// Whether a call waits for a reply.
    var hasCalls: Bool { !calls.isEmpty }

    /// Sets the unique name that the bus returned from `Hello`.
    func setUniqueName(_ name: String) throws(BusError) {
        guard dbus.validate_bus_name(name, nil) != 0, dbus.bus_set_unique_name(handle, name) != 0 else {
            throw .invalidName
        }
    }

    /// Queues a message in memory until the bus accepts it. Nobody replies to it. One with an invalid name is dropped.
    func send(_ message: BusMessage?) {
        guard let message else { return }
        dbus.message_set_no_reply(message.handle, 1)
        _ = dbus.connection_send(handle, message.handle, nil)
    }

    /// See ``BusConnection/call(_:within:completion:)``. The reply arrives during a turn.
    func call(_ message: BusMessage?, within timeLimit: Duration?, completion: @escaping Completion) {
        guard let message else { return completion(.failure(.invalidName)) }
        var pending: OpaquePointer?
        guard dbus.connection_send_with_reply(handle, message.handle, &pending, Int32.max) != 0, let pending else {
            return completion(.failure(.disconnected))
        }
        let reply = BusPendingReply(owning: pending)
        calls.append(Call(reply: reply, deadline: timeLimit.map { .now + $0 }, completion: completion))
    }

    /// Serves method calls of the object at `path`. libdbus answers `Peer`, and calls for other paths.
    func serve(path: String, _ handler: @escaping MessageHandler) {
        let box = Box(handler)
        onCalls.append(box)
        var functions = CDBusObjectPathVTable()
        functions.message_function = { _, message, context in
            guard let message, let context, dbus.message_get_type(message) == CDBUS_MESSAGE_TYPE_METHOD_CALL else {
                return CDBUS_HANDLER_RESULT_NOT_YET_HANDLED
            }
            Unmanaged<Box<MessageHandler>>.fromOpaque(context).takeUnretainedValue().value(
                BusMessage(retaining: message)
            )
            return CDBUS_HANDLER_RESULT_HANDLED
        }
        let context = Unmanaged.passUnretained(box).toOpaque()
        _ = dbus.connection_try_register_object_path(handle, path, &functions, context, nil)
    }

    // MARK: - Turns

    /// Whether received messages were not handled yet.
    private var mustDispatch: Bool { dbus.connection_get_dispatch_status(handle) == CDBUS_DISPATCH_DATA_REMAINS }

    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        // After the end was handled, there is nothing to wait for until this is removed.
        if hasEnded { return ([], nil) }
        guard isConnected, !mustDispatch else { return (sources.descriptors, .now) }
        return (sources.descriptors, (calls.compactMap(\.deadline) + [nextDeadline()].compactMap(\.self)).min())
    }

    func turn(_ descriptors: [pollfd]) {
        sources.handle(descriptors)
        // Limited, so that a flood of messages does not block everything else.
        for _ in 0..<64 where mustDispatch {
            _ = dbus.connection_dispatch(handle)
            // After each message, so that a signal after a reply is handled after it.
            finishCalls()
        }
        finishCalls(until: .now)
        if !isConnected, !mustDispatch {
            hasEnded = true
            // libdbus does not fail them, if the connection ends before the bus has accepted it.
            for call in exchange(&calls, with: []) { call.completion(.failure(.disconnected)) }
        }
        onTurn()
    }

    /// Completes the answered calls and, if `now` is given, those whose time limit has ended.
    private func finishCalls(until now: SuspendingClock.Instant? = nil) {
        var finished: [(Completion, Result<BusMessage, BusError>)] = []
        calls.removeAll { call in
            if let reply = call.reply.take() {
                let error = reply.error.map { isConnected ? $0 : .disconnected }
                finished.append((call.completion, error.map { .failure($0) } ?? .success(reply)))
                return true
            }
            guard let now, let deadline = call.deadline, deadline <= now else { return false }
            finished.append((call.completion, .failure(.noReply)))
            return true
        }
        for (completion, result) in finished { completion(result) }
    }
}

/// An expected reply.
private final class BusPendingReply {
    private let handle: OpaquePointer

    init(owning handle: OpaquePointer) { self.handle = handle }

    deinit {
        dbus.pending_call_cancel(handle)
        dbus.pending_call_unref(handle)
    }

    /// Returns the reply, once, after it has arrived.
    func take() -> BusMessage? {
        guard dbus.pending_call_get_completed(handle) != 0 else { return nil }
        return dbus.pending_call_steal_reply(handle).map(BusMessage.init(owning:))
    }
}

/// The descriptors that libdbus polls. There are no timers: no call uses libdbus's own time limit.
private final class BusSources {
    private var watches: [OpaquePointer] = []
    private var polled: [OpaquePointer] = []

    func install(on connection: OpaquePointer) {
        _ = dbus.connection_set_watch_functions(
            connection,
            { watch, context in
                if let watch, let context { BusSources.from(context).watches.append(watch) }
                return 1
            },
            { watch, context in
                guard let context else { return }
                BusSources.from(context).watches.removeAll { $0 == watch }
            },
            // `descriptors` checks whether a watch is enabled.
            { _, _ in },
            Unmanaged.passRetained(self).toOpaque(),
            { context in
                if let context { Unmanaged<BusSources>.fromOpaque(context).release() }
            }
        )
    }

    private static func from(_ context: UnsafeMutableRawPointer) -> BusSources {
        Unmanaged<BusSources>.fromOpaque(context).takeUnretainedValue()
    }

    private static let flags: [(poll: Int32, watch: UInt32)] = [
        (POLLIN, CDBUS_WATCH_READABLE), (POLLOUT, CDBUS_WATCH_WRITABLE), (POLLHUP, CDBUS_WATCH_HANGUP),
        (POLLERR | POLLNVAL, CDBUS_WATCH_ERROR),
    ]

    var descriptors: [pollfd] {
        polled = watches.filter { dbus.watch_get_enabled($0) != 0 }
        return polled.map { watch in
            // Of the flags, a watch has the first two; poll(2) ignores the others.
            let flags = dbus.watch_get_flags(watch)
            let events = Self.flags.reduce(0) { flags & $1.watch != 0 ? $0 | $1.poll : $0 }
            return pollfd(fd: dbus.watch_get_unix_fd(watch), events: Int16(events), revents: 0)
        }
    }

    func handle(_ descriptors: [pollfd]) {
        for (watch, descriptor) in zip(polled, descriptors) where descriptor.revents != 0 {
            // Handling one watch may remove another.
            guard watches.contains(watch) else { continue }
            let events = Int32(descriptor.revents)
            _ = dbus.watch_handle(watch, Self.flags.reduce(0) { events & $1.poll != 0 ? $0 | $1.watch : $0 })
        }
    }
}

/// An error that libdbus returns through a pointer.
struct LibDBusError: ~Copyable {
    var value = CDBusError()

    init() { dbus.error_init(&value) }

    deinit {
        var value = value
        dbus.error_free(&value)
    }

    func take() -> BusError {
        BusError(
            name: value.name.map { String(cString: $0) } ?? "org.freedesktop.DBus.Error.Failed",
            ofPeer: value.message.map { String(cString: $0) } ?? ""
        )
    }
}

/// A reference to a value, for C callbacks.
private final class Box<Value> {
    var value: Value

    init(_ value: Value) { self.value = value }
}
