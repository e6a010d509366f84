#if MQTT
import CLinux
import CMosquitto
import Foundation
import IndicatorCore
package import IndicatorThreads

/// A connection to an MQTT broker through libmosquitto, driven by the thread that creates it.
///
/// The thread sleeps in poll(2) until data arrives, a deadline passes, or ``WakeUp/wake()`` is called. It uses MQTT 5,
/// in which acknowledgements report what the broker's ACL forbids, and messages expire.
package final class MQTTClient {
    /// A received message.
    struct Message {
        /// The topic.
        var topic: String
        /// The payload.
        var payload: UnsafeRawBufferPointer
        /// Whether the broker had retained it.
        var isRetained: Bool
        /// The seconds until it expires on the broker; `nil` for never.
        var expiry: UInt32?
    }

    /// The keep-alive interval that the client proposes, in seconds.
    package static let keepAlive: Int32 = 15
    /// How long the broker may take to accept the client.
    private static let attemptLimit = Duration.seconds(20)

    /// The reason code of the broker's CONNACK; `nil` until it arrives.
    private(set) var connectionAnswer: Int32?
    /// How many messages the broker has not acknowledged.
    package private(set) var unacknowledged = 0
    /// How many subscriptions the broker has not acknowledged.
    var unansweredSubscriptions = 0
    /// Called with each received message.
    var onMessage: (Message) -> Void = { _ in }

    private let url: MQTTURL
    private let handle: OpaquePointer
    /// How often to call libmosquitto's keep-alive check, in seconds: three times in each interval.
    private var checkInterval = keepAlive / 3
    private var refusal: (what: String, reason: String)?
    /// Whether the TCP connection is established.
    private var isOpen = false

    private static let isInitialized = mosquitto_lib_init() == MOSQ_ERR_SUCCESS.code

    /// Prepares a connection without using the network.
    package init(id: String, settings: MQTTSettings) throws(MQTTError) {
        guard Self.isInitialized, SpareDescriptors.exist(), let handle = Self.makeHandle(id: id) else {
            throw .noResources(reason: "\(SpareDescriptors.problem), or no memory")
        }
        url = settings.url
        self.handle = handle
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
        mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, 65535)
        setCallbacks()
        if settings.username != nil || settings.password != nil {
            let status = mosquitto_username_pw_set(handle, settings.username ?? "", try settings.password?.read())
            guard status == 0 else { throw .invalidUsername }
        }
        if settings.url.usesTLS { try useTLS(settings) }
    }

    deinit {
        mosquitto_destroy(handle)
    }

    /// Undoes that libmosquitto ignores the app's `SIGPIPE`; the threads that use the library block the signal instead.
    private static func makeHandle(id: String) -> OpaquePointer? {
        // One at a time: otherwise a thread would restore what libmosquitto set on another one.
        signalAction.withLock { _ in
            var before = sigaction()
            sigaction(SIGPIPE, nil, &before)
            defer { sigaction(SIGPIPE, &before, nil) }
            return mosquitto_new(id, true, nil)
        }
    }

    private static let signalAction = Locked(())

    private func useTLS(_ settings: MQTTSettings) throws(MQTTError) {
        for path in [settings.caFile, settings.certificateFile, settings.keyFile].compactMap(\.self)
        where !FileManager.default.isReadableFile(atPath: path) {
            throw .unreadableFile(path: path, reason: "it does not exist, or may not be read")
        }
        let systemFolder = settings.caFile == nil ? "/etc/ssl/certs" : nil
        // Without this function, OpenSSL asks for the passphrase of a key on the terminal.
        let noPassphrase:
            @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 =
                { _, _, _, _ in 0 }
        let status = mosquitto_tls_set(
            handle,
            settings.caFile,
            systemFolder,
            settings.certificateFile,
            settings.keyFile,
            noPassphrase
        )
        guard status == 0 else { throw .tls(reason: Self.text(of: status)) }
    }

    /// Sets the message that the broker publishes, retained, when this client ends without disconnecting.
    package func setWill(topic: String, payload: [UInt8], expiry: UInt32) {
        withExpiry(expiry) { properties in
            // On success, libmosquitto owns the properties.
            let status = mosquitto_will_set_v5(handle, topic, Int32(payload.count), payload, 1, true, properties)
            return status != 0
        }
    }

    /// Connects. Returns when the broker has accepted the client.
    func connect(usesIPv4Only: Bool, _ wakeUp: WakeUp) throws(MQTTError) {
        let deadline = ContinuousClock.now + Self.attemptLimit
        try connect(usesIPv4Only: usesIPv4Only)
        while !isConnected {
            guard !wakeUp.isStopped, .now < deadline else {
                throw .unreachable(url, reason: "no answer within \(Self.attemptLimit)")
            }
            try turn(wakeUp, until: deadline)
        }
    }

    /// Resolves the host and begins to connect. ``turn(_:until:)`` does the rest.
    ///
    /// - Parameter usesIPv4Only: whether to skip IPv6 addresses. libmosquitto tries only one address, unless that one
    ///   is refused immediately.
    package func connect(usesIPv4Only: Bool) throws(MQTTError) {
        let port = Int32(url.port)
        let status = mosquitto_connect_bind_async(
            handle,
            url.host,
            port,
            Self.keepAlive,
            usesIPv4Only ? "0.0.0.0" : nil
        )
        guard status == 0 else { throw failure(status) }
        // A child process with the socket would keep the connection open after the app is killed.
        _ = fcntl(mosquitto_socket(handle), F_SETFD, FD_CLOEXEC)
    }

    /// Whether the broker has accepted the client.
    package var isConnected: Bool { connectionAnswer == 0 }

    /// Publishes a message with QoS 1. It stays in memory until the broker acknowledges it: see ``unacknowledged``.
    ///
    /// - Parameter expiry: the seconds after which it expires on the broker; `nil` for never.
    package func publish(topic: String, payload: [UInt8], retain: Bool, expiry: UInt32? = nil) throws(MQTTError) {
        var status: Int32 = 0
        withExpiry(expiry) { properties in
            let count = Int32(payload.count)
            status = mosquitto_publish_v5(handle, nil, topic, count, payload, 1, retain, properties)
            return true
        }
        guard status == 0 else { throw .lost(url, reason: reason(status)) }
        unacknowledged += 1
    }

    /// Subscribes to topics. A refusal ends the connection.
    func subscribe(to filter: String) throws(MQTTError) {
        try subscribe(to: filter, options: 0)
        unansweredSubscriptions += 1
    }

    /// Subscribes to what other clients publish at this client's topic from now on, if the broker allows it.
    func subscribeToOthers(at topic: String) throws(MQTTError) {
        let options = MQTT_SUB_OPT_NO_LOCAL.rawValue | MQTT_SUB_OPT_SEND_RETAIN_NEVER.rawValue
        try subscribe(to: topic, options: Int32(options))
    }

    private func subscribe(to filter: String, options: Int32) throws(MQTTError) {
        let status = mosquitto_subscribe_v5(handle, nil, filter, 1, options, nil)
        guard status == 0 else { throw .lost(url, reason: reason(status)) }
    }

    /// Disconnects: the broker discards the will. The connection closes during ``turn(_:until:)``.
    func disconnect() { mosquitto_disconnect(handle) }

    /// The socket of the connection, also while connecting; negative if there is none.
    package var socket: Int32 { mosquitto_socket(handle) }

    /// Sleeps until the socket is ready, ``WakeUp/wake()`` is called, or `deadline`; then reads and writes.
    package func turn(_ wakeUp: WakeUp, until deadline: ContinuousClock.Instant? = nil) throws(MQTTError) {
        guard socket >= 0 else { throw lost("it closed the connection") }
        var descriptors = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        // While the TLS handshake waits for the peer, libmosquitto constantly asks to write.
        if isConnected || !url.usesTLS ? mosquitto_want_write(handle) : !isOpen {
            descriptors[0].events |= Int16(POLLOUT)
        }
        if !isConnected { descriptors[0].events |= Int16(LINUX_POLLRDHUP) }
        let keepAliveCheck = ContinuousClock.now + .seconds(checkInterval)
        poll(&descriptors, 2, WakeUp.milliseconds(until: min(deadline ?? keepAliveCheck, keepAliveCheck)))
        if descriptors[1].revents != 0 { wakeUp.clear() }
        let events = Int32(descriptors[0].revents)
        isOpen = isOpen || events & Int32(POLLOUT) != 0
        // Also continues a TLS handshake, even if the socket is only writable.
        if events != 0 { try check(mosquitto_loop_read(handle, 1)) }
        if !isConnected, events & Int32(LINUX_POLLRDHUP) | events & Int32(POLLERR) | events & Int32(POLLHUP) != 0 {
            for _ in 0..<8 where connectionAnswer == nil { try check(mosquitto_loop_read(handle, 1)) }
            if connectionAnswer == nil { throw lost("it closed the connection") }
        }
        if socket >= 0, isConnected ? mosquitto_want_write(handle) : events != 0 {
            try check(mosquitto_loop_write(handle, 1))
        }
        if socket >= 0 { try check(mosquitto_loop_misc(handle)) }
        if let connectionAnswer, connectionAnswer != 0 {
            throw .refused(url, what: "the connection", reason: Self.reason(ofCode: connectionAnswer))
        }
        if let refusal { throw .refused(url, what: refusal.what, reason: refusal.reason) }
    }

    private func check(_ status: Int32) throws(MQTTError) {
        guard status != 0, connectionAnswer ?? 0 == 0 else { return }
        throw failure(status)
    }

    /// The error for a status, before `errno` changes.
    private func failure(_ status: Int32) -> MQTTError {
        // libmosquitto reports an error of TLS also as EPROTO, since 2.0.21 even while the certificate is verified.
        let isTLS = status == MOSQ_ERR_TLS.code || status == MOSQ_ERR_ERRNO.code && errno == EPROTO && url.usesTLS
        return isTLS ? tlsError : lost(reason(status))
    }

    private func lost(_ reason: String) -> MQTTError {
        isConnected ? .lost(url, reason: reason) : .unreachable(url, reason: reason)
    }

    private var tlsError: MQTTError {
        .tls(reason: "the broker at \(url) or this client rejected a certificate, or that port does not use TLS")
    }

    private func reason(_ status: Int32) -> String {
        let number = errno
        return switch status {
        case MOSQ_ERR_ERRNO.code: String(cString: strerror(number))
        case MOSQ_ERR_KEEPALIVE.code: "no answer"
        case MOSQ_ERR_EAI.code: "its host name could not be resolved"
        case MOSQ_ERR_CONN_LOST.code: "it closed the connection"
        case MOSQ_ERR_PROTOCOL.code, MOSQ_ERR_MALFORMED_PACKET.code: "its answer is not valid MQTT"
        default: Self.text(of: status)
        }
    }

    private static func text(of status: Int32) -> String {
        let text = String(cString: mosquitto_strerror(status))
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    private static func reason(ofCode code: Int32) -> String { String(cString: mosquitto_reason_string(code)) }

    /// Calls `body` with a list of properties, which is released if `body` returns `true`.
    private func withExpiry(_ expiry: UInt32?, _ body: (OpaquePointer?) -> Bool) {
        var properties: OpaquePointer?
        if let expiry {
            mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), expiry)
        }
        if body(properties) { mosquitto_property_free_all(&properties) }
    }

    private func setCallbacks() {
        mosquitto_connect_v5_callback_set(handle) { _, client, code, _, properties in
            guard let client = MQTTClient.from(client) else { return }
            client.connectionAnswer = code
            // libmosquitto uses the interval that the broker demands instead.
            var interval: UInt16 = 0
            let identifier = Int32(MQTT_PROP_SERVER_KEEP_ALIVE.rawValue)
            if mosquitto_property_read_int16(properties, identifier, &interval, false) != nil {
                client.checkInterval = max(1, Int32(interval) / 3)
            }
        }
        mosquitto_publish_v5_callback_set(handle) { _, client, _, code, _ in
            guard let client = MQTTClient.from(client) else { return }
            client.unacknowledged -= 1
            if code >= 128 { client.refusal = ("a message", MQTTClient.reason(ofCode: code)) }
        }
        mosquitto_subscribe_v5_callback_set(handle) { _, client, _, count, granted, _ in
            // The answer to `subscribeToOthers(at:)` is ignored: the broker may refuse it.
            guard let client = MQTTClient.from(client), client.unansweredSubscriptions > 0 else { return }
            client.unansweredSubscriptions -= 1
            for code in UnsafeBufferPointer(start: granted, count: Int(count)) where code >= 128 {
                client.refusal = ("a subscription", MQTTClient.reason(ofCode: Int32(code)))
            }
        }
        mosquitto_message_v5_callback_set(handle) { _, client, message, properties in
            guard let client = MQTTClient.from(client), let message = message?.pointee,
                let topic = String(validatingCString: message.topic)
            else { return }
            var expiry: UInt32 = 0
            let identifier = Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue)
            let hasExpiry = mosquitto_property_read_int32(properties, identifier, &expiry, false) != nil
            client.onMessage(
                Message(
                    topic: topic,
                    payload: UnsafeRawBufferPointer(start: message.payload, count: Int(message.payloadlen)),
                    isRetained: message.retain,
                    expiry: hasExpiry ? expiry : nil
                )
            )
        }
    }

    private static func from(_ pointer: UnsafeMutableRawPointer?) -> MQTTClient? {
        pointer.map { Unmanaged.fromOpaque($0).takeUnretainedValue() }
    }
}

extension mosq_err_t {
    fileprivate var code: Int32 { Int32(rawValue) }
}
#endif
