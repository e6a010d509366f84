#if MQTT
import CMosquitto
import Foundation
import IndicatorCore
package import IndicatorThreads

/// A connection to an MQTT broker by libmosquitto, driven by the thread that it is made on.
///
/// The thread sleeps in `poll` until something arrives, a time limit ends, or ``WakeUp/wake()`` is called. MQTT 5:
/// of its answers a client learns that the broker's ACL forbids something, and its messages expire.
package final class MQTTClient {
    /// A message that has arrived.
    struct Message {
        /// The topic.
        var topic: String
        /// The payload.
        var payload: UnsafeRawBufferPointer
        /// Whether the broker had kept it.
        var isRetained: Bool
        /// In how many seconds the broker would forget it; `nil` for never.
        var expiry: UInt32?
    }

    /// The time without a message after which the peer must show that it is there, in seconds.
    package static let keepAlive: Int32 = 15
    /// How long the broker may take to let the client in.
    private static let attemptLimit = Duration.seconds(20)

    /// What the broker answered to the connection; `nil` until it has.
    private(set) var connectionAnswer: Int32?
    /// How many messages the broker has not acknowledged.
    package private(set) var unacknowledged = 0
    /// How many subscriptions the broker has not acknowledged.
    private(set) var unansweredSubscriptions = 0
    /// What is done with messages that arrive.
    var onMessage: (Message) -> Void = { _ in }

    private let url: MQTTURL
    private let handle: OpaquePointer
    private var refusal: String?
    /// Whether the TCP connection is made.
    private var isOpen = false

    private static let isInitialized = mosquitto_lib_init() == MOSQ_ERR_SUCCESS.code

    /// Prepares a connection. Touches no network.
    package init(id: String, settings: MQTTSettings) throws(MQTTError) {
        guard Self.isInitialized, SpareDescriptors.exist, let handle = Self.makeHandle(id: id) else {
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
            guard status == 0 else { throw .refused(url, reason: "user name or password are not valid in MQTT") }
        }
        if settings.url.usesTLS { try useTLS(settings) }
    }

    deinit {
        mosquitto_destroy(handle)
    }

    /// libmosquitto has the process ignore `SIGPIPE`, which is the app's; the threads that use it block it.
    private static func makeHandle(id: String) -> OpaquePointer? {
        // One at a time, so that none keeps what another has set.
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

    /// What the broker publishes, and keeps, when this client is gone without a farewell.
    package func setWill(topic: String, payload: [UInt8], expiry: UInt32) {
        withExpiry(expiry) { properties in
            // It keeps the properties if it succeeds.
            let status = mosquitto_will_set_v5(handle, topic, Int32(payload.count), payload, 1, true, properties)
            return status != 0
        }
    }

    /// Connects, and returns when the broker has let the client in.
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

    /// Looks the host up and begins to connect. ``turn(_:until:)`` does the rest.
    ///
    /// - Parameter usesIPv4Only: whether other addresses are left out. libmosquitto tries one address only, unless it
    ///   is refused at once.
    package func connect(usesIPv4Only: Bool) throws(MQTTError) {
        let port = Int32(url.port)
        let status = mosquitto_connect_bind_async(
            handle,
            url.host,
            port,
            Self.keepAlive,
            usesIPv4Only ? "0.0.0.0" : nil
        )
        let reason = reason(status)
        guard status == 0 else { throw status == MOSQ_ERR_TLS.code ? tlsError : .unreachable(url, reason: reason) }
        // A child of the app that has the socket would keep the connection open when the app is killed.
        _ = fcntl(mosquitto_socket(handle), F_SETFD, FD_CLOEXEC)
    }

    /// Whether the broker has let the client in.
    package var isConnected: Bool { connectionAnswer == 0 }

    /// Publishes a message, QoS 1. It waits in memory until the broker takes it: see ``unacknowledged``.
    ///
    /// - Parameter expiry: after how many seconds the broker forgets it; `nil` for never.
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

    /// Subscribes to what others publish from now on at a topic that this client publishes at, if the broker allows it.
    func subscribeToOthers(at topic: String) throws(MQTTError) {
        let options = MQTT_SUB_OPT_NO_LOCAL.rawValue | MQTT_SUB_OPT_SEND_RETAIN_NEVER.rawValue
        try subscribe(to: topic, options: Int32(options))
    }

    private func subscribe(to filter: String, options: Int32) throws(MQTTError) {
        let status = mosquitto_subscribe_v5(handle, nil, filter, 1, options, nil)
        guard status == 0 else { throw .lost(url, reason: reason(status)) }
    }

    /// Takes leave: the broker does not publish the will. The connection ends in the course of ``turn(_:until:)``.
    func disconnect() { mosquitto_disconnect(handle) }

    /// The socket of the connection, also while it is being made; negative without one.
    package var socket: Int32 { mosquitto_socket(handle) }

    /// Sleeps until there is something to do, ``WakeUp/wake()`` is called, or `deadline`; handles what has arrived.
    package func turn(_ wakeUp: WakeUp, until deadline: ContinuousClock.Instant? = nil) throws(MQTTError) {
        guard socket >= 0 else { throw lost("the connection was closed") }
        var descriptors = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeUp.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        // While the TLS handshake waits for the peer, libmosquitto wants to write all the time.
        if isConnected || !url.usesTLS ? mosquitto_want_write(handle) : !isOpen {
            descriptors[0].events |= Int16(POLLOUT)
        }
        if !isConnected { descriptors[0].events |= Int16(POLLRDHUP) }
        let keepAliveCheck = ContinuousClock.now + .seconds(Self.keepAlive / 3)
        poll(&descriptors, 2, WakeUp.milliseconds(until: min(deadline ?? keepAliveCheck, keepAliveCheck)))
        if descriptors[1].revents != 0 { wakeUp.clear() }
        let events = Int32(descriptors[0].revents)
        isOpen = isOpen || events & Int32(POLLOUT) != 0
        // It is this one that goes on with a TLS handshake, also when the socket can be written to.
        if events != 0 { try check(mosquitto_loop_read(handle, 1)) }
        if !isConnected, events & Int32(POLLRDHUP) | events & Int32(POLLERR) | events & Int32(POLLHUP) != 0 {
            for _ in 0..<8 where connectionAnswer == nil { try check(mosquitto_loop_read(handle, 1)) }
            if connectionAnswer == nil { throw lost("it closed the connection") }
        }
        if socket >= 0, isConnected ? mosquitto_want_write(handle) : events != 0 {
            try check(mosquitto_loop_write(handle, 1))
        }
        if socket >= 0 { try check(mosquitto_loop_misc(handle)) }
        if let connectionAnswer, connectionAnswer != 0 {
            throw .refused(url, reason: String(cString: mosquitto_reason_string(connectionAnswer)))
        }
        if let refusal { throw .refused(url, reason: refusal) }
    }

    private func check(_ status: Int32) throws(MQTTError) {
        guard status != 0, connectionAnswer ?? 0 == 0 else { return }
        let reason = reason(status)
        throw status == MOSQ_ERR_TLS.code ? tlsError : lost(reason)
    }

    private func lost(_ reason: String) -> MQTTError {
        isConnected ? .lost(url, reason: reason) : .unreachable(url, reason: reason)
    }

    private var tlsError: MQTTError {
        .tls(reason: "the certificates of \(url) and of this client do not fit, or the broker does not use TLS")
    }

    private func reason(_ status: Int32) -> String {
        let number = errno
        return switch status {
        case MOSQ_ERR_ERRNO.code: String(cString: strerror(number))
        case MOSQ_ERR_KEEPALIVE.code: "no answer"
        default: Self.text(of: status)
        }
    }

    private static func text(of status: Int32) -> String { String(cString: mosquitto_strerror(status)) }

    /// Calls `body` with a list of properties. It is released if `body` returns `true`.
    private func withExpiry(_ expiry: UInt32?, _ body: (OpaquePointer?) -> Bool) {
        var properties: OpaquePointer?
        if let expiry {
            mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), expiry)
        }
        if body(properties) { mosquitto_property_free_all(&properties) }
    }

    private func setCallbacks() {
        mosquitto_connect_v5_callback_set(handle) { _, client, code, _, _ in
            MQTTClient.from(client)?.connectionAnswer = code
        }
        mosquitto_publish_v5_callback_set(handle) { _, client, _, code, _ in
            guard let client = MQTTClient.from(client) else { return }
            client.unacknowledged -= 1
            if code >= 128 { client.refusal = "publishing: " + String(cString: mosquitto_reason_string(code)) }
        }
        mosquitto_subscribe_v5_callback_set(handle) { _, client, _, count, granted, _ in
            // Of others at the topic, a client can do without.
            guard let client = MQTTClient.from(client), client.unansweredSubscriptions > 0 else { return }
            client.unansweredSubscriptions -= 1
            for code in UnsafeBufferPointer(start: granted, count: Int(count)) where code >= 128 {
                client.refusal = "subscribing: " + String(cString: mosquitto_reason_string(code))
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
