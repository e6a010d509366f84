import BackendConfiguration
package import IndicatorCore
import Foundation

/// A connection to an MQTT broker, which the backend, its probe and the watcher share.
///
/// It has no thread: it reads and writes while its user waits in its functions, which one task calls. They throw when
/// the connection is lost, with what to do. Once it is deallocated without ``disconnect()``, the broker publishes the
/// will.
package final class MQTTConnection {
    /// Where a broker is: an address of its host.
    package struct Place: Sendable, Hashable {
        let url: MQTTURL
        let address: String
    }

    package let client: MQTTClient
    /// Where the broker is.
    package let place: Place
    private let wait: BrokerWait

    private init(_ client: MQTTClient, at place: Place, _ wait: BrokerWait) {
        (self.client, self.place, self.wait) = (client, place, wait)
    }

    /// Connects to the first address that accepts the client, beginning with a random one of the settings.
    ///
    /// While no broker answers for a second, the backend is unavailable. At the end of the updates, it has 0.7 s.
    ///
    /// - Parameters:
    ///   - id: the client's identifier. A broker ends an earlier connection of the same one.
    ///   - settings: the broker; without the topics.
    ///   - will: what the broker publishes, retained for a week, when the connection ends without ``disconnect()``.
    ///   - failed: where a connection was lost: tried last.
    ///   - updates: those of the backend. With `nil`, in a task without one, waiting blocks the thread, and is over
    ///     within a second when the task is cancelled.
    /// - Throws: why there is no connection: a `BackendProblem`.
    package static func open(
        id: String,
        settings: MQTTSettings,
        will: (topic: String, payload: [UInt8])? = nil,
        avoiding failed: Place? = nil,
        for updates: IndicatorUpdates?
    ) async throws -> MQTTConnection {
        let wait = BrokerWait(updates, noAnswer: .unreachable(settings.brokerName, reason: "no answer yet"))
        var problem: MQTTError?
        /// Throws what makes further attempts useless.
        func attempt(_ place: Place) async throws(MQTTError) -> MQTTConnection? {
            for isVersion5 in [true, false] where settings.protocolVersion != (isVersion5 ? .version311 : .version5) {
                let client = try MQTTClient(id: id, settings: settings, url: place.url, isVersion5: isVersion5)
                if let will { client.setWill(topic: will.topic, payload: will.payload, expiry: MQTTReport.lostExpiry) }
                do throws(MQTTError) {
                    try await wait.connect(client, to: place.address)
                    return MQTTConnection(client, at: place, wait)
                } catch {
                    if wait.isOver { throw error }
                    // What a broker rejects explains more than that another one is down.
                    switch (problem, error) {
                    case (.refused, .unreachable), (.tls, .unreachable): break
                    default: problem = error
                    }
                    if case .wrongVersion = error { continue }
                    guard client.maySpeakOtherVersion else { break }
                }
            }
            return nil
        }

        var last: Place?
        let start = Int.random(in: 0...max(settings.urls.count - 1, 0))
        for url in settings.urls[start...] + settings.urls[..<start] {
            guard let addresses = await wait.addresses(of: url) else {
                if wait.isOver { throw wait.noAnswer }
                problem = problem ?? .unreachable("\(url)", reason: "its host name could not be resolved")
                continue
            }
            // With TLS, libmosquitto must have the name, to compare it with the certificate, and resolves it again.
            for address in url.usesTLS ? [url.certifiedHost] : addresses {
                let place = Place(url: url, address: address)
                if place == failed { last = place } else if let found = try await attempt(place) { return found }
            }
        }
        if let last, let found = try await attempt(last) { return found }
        throw problem ?? .invalidURL(reason: "there is none")
    }

    /// Says that the last update is shown, and waits for the next one, for a time of the system's clock, or until
    /// something was read or written; see `IndicatorUpdates.next(orReadable:orWritable:until:)`.
    package func next(until deadline: SuspendingClock.Instant? = nil) async throws -> IndicatorEvent? {
        let event = await wait.next(client, until: deadline)
        if event != nil { try client.turn() }
        return event
    }

    /// Publishes a message with QoS 1, which stays in memory until the broker acknowledges it: see ``settle()``.
    ///
    /// - Parameters:
    ///   - topic: the topic.
    ///   - payload: the content.
    ///   - retain: whether the broker keeps it for those that subscribe later.
    ///   - expiry: the seconds after which a broker of MQTT 5 drops it; `nil` for never.
    package func publish(topic: String, payload: [UInt8], retain: Bool = false, expiry: UInt32? = nil) throws {
        try client.publish(topic: topic, payload: payload, retain: retain, expiry: expiry)
    }

    /// Waits until the broker has acknowledged what was published; after the end of the updates for at most 0.7 s.
    ///
    /// - Returns: whether it has.
    @discardableResult
    package func settle() async throws -> Bool {
        while client.unacknowledged > 0 {
            if wait.isOver { return false }
            try await turn()
        }
        return true
    }

    /// Waits until something was read or written, or for a time.
    package func turn(until deadline: SuspendingClock.Instant? = nil) async throws {
        await wait.turn(client, until: deadline)
        try client.turn()
    }

    /// Disconnects, so that the broker discards the will. Blocks until that is sent, for at most 0.7 s.
    package func disconnect() {
        client.disconnect()
        let end = wait.end ?? .now + BrokerWait.farewellLimit
        while client.socket >= 0, .now < end {
            BrokerWait.block(client.interest().descriptors, until: end)
            guard (try? client.turn()) != nil else { return }
        }
    }
}

/// Waits for a broker together with what else its user waits for.
private final class BrokerWait {
    /// How long the broker may delay the end.
    static let farewellLimit = Duration.milliseconds(700)

    /// The error of an attempt that is ended.
    let noAnswer: MQTTError
    /// When the end is over; `nil` before it is noticed.
    private(set) var end: SuspendingClock.Instant?
    private let updates: IndicatorUpdates?
    /// When it is reported that no broker answers.
    private var answerDue: SuspendingClock.Instant? = .now + .seconds(1)

    init(_ updates: IndicatorUpdates?, noAnswer: MQTTError) { (self.updates, self.noAnswer) = (updates, noAnswer) }

    /// Whether there is no more time to wait.
    var isOver: Bool { updates == nil ? Task.isCancelled : end.map { $0 <= .now } ?? false }

    func next(_ client: MQTTClient, until deadline: SuspendingClock.Instant?) async -> IndicatorEvent? {
        let (descriptors, check) = client.interest()
        let (readable, writable) = Self.polled(descriptors)
        return await updates?.next(orReadable: readable, orWritable: writable, until: min(check, deadline ?? check))
    }

    func turn(_ client: MQTTClient, until deadline: SuspendingClock.Instant?) async {
        let (descriptors, check) = client.interest()
        await wait(descriptors, until: min(check, deadline ?? check))
    }

    func connect(_ client: MQTTClient, to address: String) async throws(MQTTError) {
        let deadline = SuspendingClock.now + MQTTClient.attemptLimit
        try client.connect(to: address)
        do throws(MQTTError) {
            while !client.isConnected {
                if isOver { throw noAnswer }
                if deadline <= .now { throw .unreachable("\(client.url)", reason: "it does not answer") }
                await turn(client, until: deadline)
                try client.turn()
            }
        } catch {
            // A broker that was stopped would otherwise accept the client later, and publish its will.
            client.disconnect()
            throw error
        }
        answerDue = nil
    }

    /// All addresses of the host as numbers, because libmosquitto tries only one of a name, unless that one is refused
    /// immediately, and would block this thread. `nil` if there is none, or no time.
    func addresses(of url: MQTTURL) async -> [String]? {
        if let numeric = url.addresses(flags: AI_NUMERICHOST) { return numeric }
        let answer = Locked<[String]??>(nil)
        ServiceThread.ownCode.call(at: .min) { [updates] in
            let addresses = url.addresses(flags: 0)
            answer.withLock { $0 = .some(addresses) }
            updates?.wake()
        }
        while !isOver {
            if let addresses = answer.withLock({ $0 }) { return addresses }
            await wait([], until: .now + .seconds(1))
        }
        return nil
    }

    private func wait(_ descriptors: [pollfd], until deadline: SuspendingClock.Instant) async {
        guard let updates else { return Self.block(descriptors, until: min(deadline, .now + .seconds(1))) }
        let (readable, writable) = Self.polled(descriptors)
        let due = min(deadline, answerDue ?? deadline)
        if await updates.wait(orReadable: readable, orWritable: writable, until: due) == nil {
            let end = end ?? .now + Self.farewellLimit
            self.end = end
            Self.block(descriptors, until: min(deadline, end))
        }
        if let answerDue, answerDue <= .now {
            updates.reportUnavailable(noAnswer)
            self.answerDue = nil
        }
    }

    static func block(_ descriptors: [pollfd], until end: SuspendingClock.Instant) {
        var descriptors = descriptors
        // Nothing ends a wait without descriptors early: not even ``IndicatorUpdates/wake()``.
        let end = descriptors.isEmpty ? min(end, .now + .milliseconds(10)) : end
        poll(&descriptors, nfds_t(descriptors.count), WakeUp.milliseconds(until: end))
    }

    private static func polled(_ descriptors: [pollfd]) -> (readable: [Int32], writable: [Int32]) {
        (descriptors.map(\.fd), descriptors.filter { $0.events & Int16(POLLOUT) != 0 }.map(\.fd))
    }
}

extension MQTTURL {
    /// The host as certificates have it: without the dot after which no search domain is tried.
    fileprivate var certifiedHost: String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    fileprivate func addresses(flags: Int32) -> [String]? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else { return nil }
        defer { freeaddrinfo(first) }
        var addresses: [String] = []
        for item in sequence(first: first, next: { $0?.pointee.ai_next }).compactMap(\.self?.pointee) {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            getnameinfo(item.ai_addr, item.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
            let address = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? host
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
