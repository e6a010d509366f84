import BackendConfiguration
import IndicatorCore
import CIndicatorDBus
public import Foundation

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
    public var descriptor: FileHandle? {
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
        /// When the call fails with ``BusError/noReply``; `nil` for never.
        var deadline: SuspendingClock.Instant?
        var completion: Completion
    }

    /// Called at the end of each turn.
    var onTurn: () -> Void = {}
    /// When to turn in any case, besides the time limits of calls.
    var nextDeadline: () -> SuspendingClock.Instant? = { nil }

    private let handle: OpaquePointer
    private let onSignal: MessageHandler
    /// What answers the calls of an object, by its path.
    private var objects: [String: MessageHandler] = [:]
    /// By the serial number of their messages.
    private var calls: [UInt32: Call] = [:]
    /// libdbus enables it while it has to write: a message, or what precedes the acceptance of this user.
    private var writeWatch: OpaquePointer?
    /// Whether the connection has ended, and its calls have failed.
    private var hasEnded = false

    /// Connects to a bus, without calling `Hello`.
    init(address: String, onSignal: @escaping MessageHandler = { _ in }) throws(BusError) {
        if BusSocket.wouldBlock(address) { throw .notAccepting }
        self.onSignal = onSignal
        StandardStreams.openMissing()
        var error = LibDBusError()
        guard let opened = dbus.connection_open_private(address, &error.value) else { throw error.take() }
        handle = opened
        // Otherwise libdbus exits the process when the bus ends.
        dbus.connection_set_exit_on_disconnect(handle, 0)
        // Not retained: the functions are only called here and in a turn.
        let context = Unmanaged.passUnretained(self).toOpaque()
        _ = dbus.connection_set_watch_functions(
            handle,
            { watch, context in
                if let watch, let context, dbus.watch_get_flags(watch) & CDBUS_WATCH_WRITABLE != 0 {
                    Unmanaged<LibDBusConnection>.fromOpaque(context).takeUnretainedValue().writeWatch = watch
                }
                return 1
            },
            // It is not used after the end of the connection.
            { _, _ in },
            { _, _ in },
            context,
            nil
        )
        _ = dbus.connection_add_filter(
            handle,
            { _, message, context in
                guard let message, let context else { return CDBUS_HANDLER_RESULT_NOT_YET_HANDLED }
                let connection = Unmanaged<LibDBusConnection>.fromOpaque(context).takeUnretainedValue()
                let isHandled = connection.receive(BusMessage(retaining: message))
                return isHandled ? CDBUS_HANDLER_RESULT_HANDLED : CDBUS_HANDLER_RESULT_NOT_YET_HANDLED
            },
            context,
            nil
        )
    }

    deinit {
        dbus.connection_close(handle)
        dbus.connection_unref(handle)
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
        var serial: UInt32 = 0
        guard isConnected, dbus.connection_send(handle, message.handle, &serial) != 0 else {
            return completion(.failure(.disconnected))
        }
        calls[serial] = Call(deadline: timeLimit.map { .now + $0 }, completion: completion)
    }

    /// Serves method calls of the object at `path`. libdbus answers `Peer`, and calls for other paths.
    func serve(path: String, _ handler: @escaping MessageHandler) {
        objects[path] = handler
        // Only for the introspection of the paths above it: the filter has handled the calls.
        var functions = CDBusObjectPathVTable()
        functions.message_function = { _, _, _ in CDBUS_HANDLER_RESULT_NOT_YET_HANDLED }
        _ = dbus.connection_try_register_object_path(handle, path, &functions, nil, nil)
    }

    // MARK: - Turns

    /// Whether received messages were not handled yet.
    private var mustDispatch: Bool { dbus.connection_get_dispatch_status(handle) == CDBUS_DISPATCH_DATA_REMAINS }

    func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        // After the end was handled, there is nothing to wait for until this is removed.
        if hasEnded { return ([], nil) }
        guard isConnected, !mustDispatch else { return ([], .now) }
        var descriptor: Int32 = -1
        _ = dbus.connection_get_unix_fd(handle, &descriptor)
        let mustWrite = writeWatch.map { dbus.watch_get_enabled($0) != 0 } ?? false
        let events = mustWrite ? POLLIN | POLLOUT : POLLIN
        let deadline = (calls.values.compactMap(\.deadline) + [nextDeadline()].compactMap(\.self)).min()
        return ([pollfd(fd: descriptor, events: Int16(events), revents: 0)], deadline)
    }

    func turn(_ descriptors: [pollfd]) {
        if descriptors.contains(where: { $0.revents != 0 }) { _ = dbus.connection_read_write(handle, 0) }
        // Limited, so that a flood of messages does not block everything else.
        for _ in 0..<64 where mustDispatch { _ = dbus.connection_dispatch(handle) }
        let now = SuspendingClock.now
        finishCalls(.noReply) { $0.deadline.map { $0 <= now } ?? false }
        if !isConnected, !mustDispatch {
            hasEnded = true
            finishCalls(.disconnected) { _ in true }
        }
        onTurn()
    }

    /// Handles a message. Returns whether it was for this connection alone.
    private func receive(_ message: BusMessage) -> Bool {
        switch dbus.message_get_type(message.handle) {
        case CDBUS_MESSAGE_TYPE_SIGNAL:
            onSignal(message)
            return false
        case CDBUS_MESSAGE_TYPE_METHOD_CALL:
            guard let object = message.path.flatMap({ objects[$0] }) else { return false }
            object(message)
        default:
            guard let call = calls.removeValue(forKey: dbus.message_get_reply_serial(message.handle)) else {
                return false
            }
            call.completion(message.error.map { .failure($0) } ?? .success(message))
        }
        return true
    }

    private func finishCalls(_ error: BusError, where isFinished: (Call) -> Bool) {
        let finished = calls.filter { isFinished($0.value) }
        for serial in finished.keys { calls[serial] = nil }
        for call in finished.values { call.completion(.failure(error)) }
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
