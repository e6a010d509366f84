import BackendConfiguration
import IndicatorCore
import CIndicatorLinux
import CIndicatorMosquitto
package import Foundation

/// A connection to an MQTT broker through libmosquitto, driven by the thread that uses it, which waits for
/// ``interest()`` in poll(2), as that of an ``MQTTConnection``.
///
/// With MQTT 5, acknowledgements report what the broker's ACL forbids, and messages expire.
package final class MQTTClient {
    /// A received message.
    package struct Message {
        /// The topic.
        package var topic: String
        /// The payload.
        package var payload: UnsafeRawBufferPointer
        /// Whether the broker had retained it.
        package var isRetained: Bool
        /// The seconds until it expires on the broker; `nil` for never.
        package var expiry: UInt32?

        package init(topic: String, payload: UnsafeRawBufferPointer, isRetained: Bool, expiry: UInt32?) {
            (self.topic, self.payload, self.isRetained, self.expiry) = (topic, payload, isRetained, expiry)
        }
    }

    /// The largest packet that the client accepts from a broker of MQTT 5, which does not send it larger ones. Other
    /// clients could otherwise fill the memory of this one.
    private static let largestPacket = UInt32(MQTTReport.longestPayload + 4096)
    /// How long the broker may take to accept the client.
    package static let attemptLimit = Duration.seconds(20)

    /// The reason code of the broker's CONNACK; `nil` until it arrives.
    private(set) var connectionAnswer: Int32?
    /// How many messages the broker has not acknowledged.
    package private(set) var unacknowledged = 0
    /// How many subscriptions the broker has not acknowledged.
    package var unansweredSubscriptions = 0
    /// Called with each received message.
    package var onMessage: (Message) -> Void = { _ in }

    /// Whether it speaks MQTT 5, not 3.1.1.
    package let isVersion5: Bool
    /// The address of the broker.
    package let url: MQTTURL
    private let library: CMosquittoFunctions
    private let handle: OpaquePointer
    /// The first error that libmosquitto has logged: the reason for an error of TLS, which it reports nowhere else.
    private var problem: String?
    private let hasCertificate: Bool
    /// The interval that the client proposes, in seconds.
    private let keepAlive: Int32
    /// How often to call libmosquitto's keep-alive check, in seconds: three times in each interval.
    private var checkInterval: Int32
    private var nextCheck = SuspendingClock.now
    /// Until when the broker must have acknowledged another message: one that only answers pings is of no use.
    private var acknowledgementDue: SuspendingClock.Instant?
    private var refusal: MQTTError?
    /// Whether the broker has closed the connection before it answered, or with an answer of another version.
    private(set) var maySpeakOtherVersion = false
    /// Whether the TCP connection is established.
    private var isOpen = false

    /// libmosquitto, loaded when a broker is first used.
    private static let loaded: Result<CMosquittoFunctions, MQTTError> = {
        var library = CMosquittoFunctions()
        if let problem = load(&library) { return .failure(.noLibrary(reason: problem)) }
        SharedLibrary.keepOpenSSL(of: file)
        return library.mosquitto_lib_init() == MOSQ_ERR_SUCCESS.code
            ? .success(library) : .failure(.noResources(reason: "no memory"))
    }()

    private static let file = "libmosquitto.so.1"

    private static func load(_ functions: inout CMosquittoFunctions) -> String? {
        SharedLibrary.load(file, &functions, cmosquitto_find)
    }

    /// Prepares a connection without using the network.
    ///
    /// - Parameters:
    ///   - url: the address of the broker; by default the first of the settings.
    ///   - isVersion5: whether to speak MQTT 5, not 3.1.1.
    package init(
        id: String,
        settings: MQTTSettings,
        url: MQTTURL? = nil,
        isVersion5: Bool = true
    ) throws(MQTTError) {
        guard let url = url ?? settings.urls.first else { throw .invalidURL(reason: "there is none") }
        // Only success is remembered: the process may have had no descriptor left.
        var functions = CMosquittoFunctions()
        if let problem = Self.load(&functions) { throw .noLibrary(reason: problem) }
        library = try Self.loaded.get()
        guard SpareDescriptors.exist(), let handle = Self.makeHandle(library, id: id) else {
            throw .noResources(reason: "\(SpareDescriptors.problem), or no memory")
        }
        (self.url, self.handle, self.isVersion5) = (url, handle, isVersion5)
        hasCertificate = settings.certificateFile != nil
        keepAlive = Int32(clamping: min(max(settings.keepAlive.components.seconds, 5), 65535))
        checkInterval = keepAlive / 3
        library.mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        _ = library.mosquitto_int_option(
            handle,
            MOSQ_OPT_PROTOCOL_VERSION,
            isVersion5 ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311
        )
        _ = library.mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, 65535)
        setCallbacks()
        if settings.username != nil || settings.password != nil {
            let status = library.mosquitto_username_pw_set(
                handle,
                settings.username ?? "",
                try settings.password?.read()
            )
            guard status == 0 else {
                throw status == MOSQ_ERR_NOMEM.code ? .noResources(reason: text(of: status)) : .invalidUsername
            }
        }
        if url.usesTLS { try useTLS(settings) }
    }

    deinit {
        library.mosquitto_destroy(handle)
    }

    /// Undoes that libmosquitto ignores the app's `SIGPIPE`; the threads that use the library block the signal instead.
    private static func makeHandle(_ library: CMosquittoFunctions, id: String) -> OpaquePointer? {
        // One at a time: otherwise a thread would restore what libmosquitto set on another one.
        signalAction.withLock { _ in
            var before = sigaction()
            sigaction(SIGPIPE, nil, &before)
            defer { sigaction(SIGPIPE, &before, nil) }
            return library.mosquitto_new(id, true, nil)
        }
    }

    private static let signalAction = Locked(())

    private func useTLS(_ settings: MQTTSettings) throws(MQTTError) {
        for path in [settings.caFile, settings.certificateFile, settings.keyFile].compactMap(\.self) {
            guard FileManager.default.isReadableFile(atPath: path) else {
                throw .unreadableFile(path: path, reason: "it does not exist, or may not be read")
            }
        }
        if (settings.certificateFile == nil) != (settings.keyFile == nil) {
            throw .tls(reason: "only one of 'certificateFile' and 'keyFile' is set, which belong together")
        }
        var status: Int32 = 0
        if settings.caFile == nil { status = library.mosquitto_int_option(handle, MOSQ_OPT_TLS_USE_OS_CERTS, 1) }
        if status == 0, settings.caFile != nil || hasCertificate {
            // It demands authorities also where those of the system are used.
            let folder = settings.caFile == nil ? "/etc/ssl/certs" : nil
            let (certificate, key) = (settings.certificateFile, settings.keyFile)
            // Otherwise OpenSSL would ask for the passphrase of a key on the terminal.
            status = library.mosquitto_tls_set(handle, settings.caFile, folder, certificate, key) { _, _, _, _ in -1 }
        }
        guard status == 0 else { throw .tls(reason: text(of: status)) }
        library.mosquitto_log_callback_set(handle) { _, client, level, text in
            guard let client = MQTTClient.from(client), level == MOSQ_LOG_ERR, let text else { return }
            client.problem = client.problem ?? String(cString: text)
        }
    }

    /// Sets the message that the broker publishes, retained, when this client ends without disconnecting.
    package func setWill(topic: String, payload: [UInt8], expiry: UInt32) {
        withExpiry(expiry) { properties in
            // On success, libmosquitto owns the properties.
            let status = library.mosquitto_will_set_v5(
                handle,
                topic,
                Int32(payload.count),
                payload,
                1,
                true,
                properties
            )
            return status != 0
        }
    }

    /// Begins to connect. ``turn(_:)`` does the rest.
    ///
    /// - Parameter address: an address of the host; by default the first that libmosquitto resolves.
    package func connect(to address: String? = nil) throws(MQTTError) {
        StandardStreams.openMissing()
        if isVersion5 {
            var properties: OpaquePointer?
            let identifier = Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue)
            _ = library.mosquitto_property_add_int32(&properties, identifier, Self.largestPacket)
            // The only function that takes properties waits for the connection. Without a host, it only stores them.
            _ = library.mosquitto_connect_bind_v5(handle, nil, 0, keepAlive, nil, properties)
            library.mosquitto_property_free_all(&properties)
        }
        let status = library.mosquitto_connect_async(handle, address ?? url.host, Int32(url.port), keepAlive)
        guard status == 0 else { throw failure(status) }
        // A child process with the socket would keep the connection open after the app is killed.
        _ = fcntl(library.mosquitto_socket(handle), F_SETFD, FD_CLOEXEC)
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
            status = library.mosquitto_publish_v5(handle, nil, topic, count, payload, 1, retain, properties)
            return true
        }
        guard status == 0 else { throw failure(status) }
        unacknowledged += 1
        acknowledgementDue = acknowledgementDue ?? .now + .seconds(keepAlive)
    }

    /// Subscribes to topics, with MQTT 3.1.1 at QoS 0. A refusal ends the connection.
    ///
    /// For QoS 1, NATS has a consumer with a leader on one of its nodes. When that node dies, one connection in about
    /// ten gets no further message, though it stays open (seen with 2.9.10). No session outlives its connection
    /// here, so QoS 1 would save no message.
    package func subscribe(to filter: String) throws(MQTTError) {
        let status = library.mosquitto_subscribe(handle, nil, filter, isVersion5 ? 1 : 0)
        guard status == 0 else { throw failure(status) }
        unansweredSubscriptions += 1
    }

    /// Disconnects: the broker discards the will. The connection closes during ``turn(_:)``.
    package func disconnect() { _ = library.mosquitto_disconnect(handle) }

    /// The socket of the connection, also while connecting; negative if there is none.
    package var socket: Int32 { library.mosquitto_socket(handle) }

    /// What to wait for, and when to call ``turn(_:)`` in any case.
    package func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant) {
        var events = Int16(POLLIN)
        // While the TLS handshake waits for the peer, libmosquitto constantly asks to write.
        if isConnected || !url.usesTLS ? library.mosquitto_want_write(handle) : !isOpen { events |= Int16(POLLOUT) }
        if !isConnected { events |= Int16(LINUX_POLLRDHUP) }
        return ([pollfd(fd: socket, events: events, revents: 0)], min(nextCheck, acknowledgementDue ?? nextCheck))
    }

    /// Reads and writes what is possible now.
    func turn() throws(MQTTError) {
        // A bounded number of messages, of which each turn reads one.
        for _ in 0..<64 {
            var descriptors = interest().descriptors
            poll(&descriptors, 1, 0)
            try turn(descriptors)
            if descriptors[0].revents & Int16(POLLIN) == 0 { return }
        }
    }

    /// Reads and writes.
    ///
    /// - Parameter descriptors: those of ``interest()``, with the results of poll(2).
    package func turn(_ descriptors: [pollfd]) throws(MQTTError) {
        guard socket >= 0 else { throw closed }
        defer { nextCheck = .now + .seconds(checkInterval) }
        let events = Int32(descriptors.first?.revents ?? 0)
        if !isOpen, events & Int32(POLLERR | POLLHUP) != 0, let problem = connectionProblem { throw lost(problem) }
        isOpen = isOpen || events & Int32(POLLOUT) != 0
        // Also continues a TLS handshake, even if the socket is only writable.
        if events != 0 { try check(library.mosquitto_loop_read(handle, 1)) }
        if !isConnected, events & Int32(LINUX_POLLRDHUP) | events & Int32(POLLERR) | events & Int32(POLLHUP) != 0 {
            for _ in 0..<8 where connectionAnswer == nil { try check(library.mosquitto_loop_read(handle, 1)) }
            if connectionAnswer == nil { throw closed }
        }
        if socket >= 0, isConnected ? library.mosquitto_want_write(handle) : events != 0 {
            try check(library.mosquitto_loop_write(handle, 1))
        }
        if socket >= 0 { try check(library.mosquitto_loop_misc(handle)) }
        if let connectionAnswer, connectionAnswer != 0 { throw rejection(connectionAnswer) }
        if let refusal { throw refusal }
        // A broker of MQTT 5 has ended it with a packet, which is no error of libmosquitto's.
        guard socket >= 0 else { throw closed }
        if let acknowledgementDue, acknowledgementDue <= .now { throw lost("it does not acknowledge a message") }
    }

    /// Why there is no connection to the host; `nil` if it was there, and the peer has closed it.
    private var connectionProblem: String? {
        var (number, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        getsockopt(socket, SOL_SOCKET, SO_ERROR, &number, &size)
        switch number {
        case EPIPE, ECONNRESET: return nil
        // With TLS, libmosquitto has already taken the error from the socket.
        case 0: return url.usesTLS ? "it refused the connection" : nil
        default: return String(cString: strerror(number))
        }
    }

    private func check(_ status: Int32) throws(MQTTError) {
        guard status != 0, connectionAnswer ?? 0 == 0 else { return }
        throw failure(status)
    }

    /// The error for a status, before `errno` changes.
    private func failure(_ status: Int32) -> MQTTError {
        if url.usesTLS, status == MOSQ_ERR_TLS.code || status == MOSQ_ERR_ERRNO.code && errno == EPROTO {
            // OpenSSL also reports an error of the socket, such as a broken pipe, of which no file is to blame.
            if let problem, !problem.contains("system library") { return tlsError(problem) }
            // libmosquitto reports any error of a socket with TLS like this, since 2.0.21 also a refused connection.
            return isOpen ? closed : lost("it refused the connection")
        }
        // A broker of MQTT 3.1.1 may answer as such, which libmosquitto reports like this since 2.0.12.
        if status == MOSQ_ERR_PROTOCOL.code || status == MOSQ_ERR_MALFORMED_PACKET.code {
            maySpeakOtherVersion = !isConnected
            // A refusal without the properties of MQTT 5, since 2.0.21.
            if maySpeakOtherVersion, isVersion5, status == MOSQ_ERR_MALFORMED_PACKET.code {
                return .wrongVersion(url, isVersion5: true)
            }
        }
        // 0: in the middle of a packet.
        let isClosed = status == MOSQ_ERR_ERRNO.code && [0, EPIPE, ECONNRESET].contains(errno)
        return isClosed || status == MOSQ_ERR_CONN_LOST.code ? closed : lost(reason(status))
    }

    private var closed: MQTTError {
        maySpeakOtherVersion = !isConnected
        let mayWantCertificate = !isConnected && url.usesTLS && !hasCertificate
        return lost("it closed the connection" + (mayWantCertificate ? "; it may require a client certificate" : ""))
    }

    private func rejection(_ code: Int32) -> MQTTError {
        let isVersion = code == (isVersion5 ? Int32(MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION.rawValue) : 1)
        if isVersion { return .wrongVersion(url, isVersion5: isVersion5) }
        return refusal(of: "the connection", code)
    }

    private func refusal(of what: String, _ code: Int32) -> MQTTError {
        let isConnection = !isVersion5 && code < 128
        let reason = isConnection ? library.mosquitto_connack_string(code) : library.mosquitto_reason_string(code)
        // Of MQTT 3.1.1, those of a connection, and that of a subscription.
        let isForbidden = isVersion5 ? [134, 135, 140].contains(code) : [4, 5, 128].contains(code)
        return .refused(url, what: what, reason: Self.text(reason), isForbidden: isForbidden)
    }

    private func lost(_ reason: String) -> MQTTError {
        isConnected ? .lost("\(url)", reason: reason) : .unreachable("\(url)", reason: reason)
    }

    /// - Parameter problem: such as "Error: host name verification failed." or, of OpenSSL, "OpenSSL Error[0]: " and
    ///   "error:0A000086:SSL routines::certificate verify failed".
    private func tlsError(_ problem: String) -> MQTTError {
        let isOfOpenSSL = problem.hasPrefix("OpenSSL")
        var reason = problem.split(separator: ":").last.map(String.init) ?? problem
        if !isOfOpenSSL, let start = problem.range(of: "Error: ") { reason = String(problem[start.upperBound...]) }
        reason = reason.trimmingCharacters(in: CharacterSet(charactersIn: ". "))
        return .tls(reason: "\(reason), with the broker at \(url)")
    }

    private func reason(_ status: Int32) -> String {
        let number = errno
        return switch status {
        case MOSQ_ERR_ERRNO.code: String(cString: strerror(number))
        case MOSQ_ERR_KEEPALIVE.code: "no answer"
        case MOSQ_ERR_EAI.code: "its host name could not be resolved"
        case MOSQ_ERR_PROTOCOL.code, MOSQ_ERR_MALFORMED_PACKET.code: "its answer is not valid MQTT"
        default: text(of: status)
        }
    }

    private func text(of status: Int32) -> String {
        let text = Self.text(library.mosquitto_strerror(status))
        return text.hasSuffix(".") ? String(text.dropLast()) : text
    }

    private static func text(_ text: UnsafePointer<CChar>?) -> String { text.map { String(cString: $0) } ?? "" }

    /// Calls `body` with a list of properties, which is released if `body` returns `true`.
    private func withExpiry(_ expiry: UInt32?, _ body: (OpaquePointer?) -> Bool) {
        var properties: OpaquePointer?
        if let expiry, isVersion5 {
            _ = library.mosquitto_property_add_int32(
                &properties,
                Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue),
                expiry
            )
        }
        if body(properties) { library.mosquitto_property_free_all(&properties) }
    }

    private func setCallbacks() {
        library.mosquitto_connect_v5_callback_set(handle) { _, client, code, _, properties in
            guard let client = MQTTClient.from(client) else { return }
            client.connectionAnswer = code
            // libmosquitto uses the interval that the broker demands instead.
            var interval: UInt16 = 0
            let identifier = Int32(MQTT_PROP_SERVER_KEEP_ALIVE.rawValue)
            if client.library.mosquitto_property_read_int16(properties, identifier, &interval, false) != nil {
                client.checkInterval = max(1, Int32(interval) / 3)
            }
        }
        library.mosquitto_publish_v5_callback_set(handle) { _, client, _, code, _ in
            guard let client = MQTTClient.from(client) else { return }
            client.unacknowledged -= 1
            client.acknowledgementDue = client.unacknowledged > 0 ? .now + .seconds(client.keepAlive) : nil
            if code >= 128 { client.refusal = client.refusal(of: "a message", code) }
        }
        library.mosquitto_subscribe_v5_callback_set(handle) { _, client, _, count, granted, _ in
            guard let client = MQTTClient.from(client), client.unansweredSubscriptions > 0 else { return }
            client.unansweredSubscriptions -= 1
            for code in UnsafeBufferPointer(start: granted, count: Int(count)) where code >= 128 {
                client.refusal = client.refusal(of: "a subscription", Int32(code))
            }
        }
        library.mosquitto_message_v5_callback_set(handle) { _, client, message, properties in
            guard let client = MQTTClient.from(client), let message = message?.pointee,
                let topic = String(validatingCString: message.topic)
            else { return }
            var expiry: UInt32 = 0
            let identifier = Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue)
            let hasExpiry = client.library.mosquitto_property_read_int32(properties, identifier, &expiry, false) != nil
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
