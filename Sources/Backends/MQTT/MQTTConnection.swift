import BackendConfiguration
import DisplayText
package import Foundation
import IndicatorCore
package import IndicatorThreads

/// A connection to a broker, for which a thread waits together with its other work. Only used on that thread.
package final class MQTTConnection: PollSource, @unchecked Sendable {
    // `@unchecked`: only used on the thread.

    /// Where a broker is: an address of its host.
    package struct Place: Sendable, Hashable {
        var url: MQTTURL
        var address: String
    }

    package let client: MQTTClient
    package let place: Place
    /// Why it has ended.
    private(set) var fault: MQTTError?
    /// Called when something was read or written, or it has ended.
    var onTurn: () -> Void = {}

    private let thread: ServiceThread
    private var waiters: [(end: SuspendingClock.Instant?, resume: @Sendable (()) -> Void)] = []

    private init(_ client: MQTTClient, to place: Place, on thread: ServiceThread) throws(MQTTError) {
        (self.client, self.place, self.thread) = (client, place, thread)
        guard SpareDescriptors.exist(), thread.add(self) else {
            throw .noResources(reason: SpareDescriptors.problem)
        }
    }

    /// A connection to the first address that accepts the client, beginning with a random one of the settings.
    ///
    /// - Parameters:
    ///   - id: the client's identifier.
    ///   - settings: the broker.
    ///   - failed: where the connection before was lost: tried last.
    ///   - thread: the thread on which this is called.
    ///   - prepare: called with each client before it connects.
    /// - Throws: also if the task is cancelled.
    package static func open(
        id: String,
        settings: MQTTSettings,
        avoiding failed: Place? = nil,
        on thread: ServiceThread,
        prepare: (MQTTClient) -> Void = { _ in }
    ) async throws(MQTTError) -> MQTTConnection {
        var problem: MQTTError?
        /// Throws what makes further attempts useless.
        func attempt(_ place: Place) async throws(MQTTError) -> MQTTConnection? {
            for isVersion5 in [true, false] where settings.protocolVersion != (isVersion5 ? .version311 : .version5) {
                guard !Task.isCancelled else {
                    throw problem ?? .unreachable("\(place.url)", reason: "its name was not resolved in time")
                }
                let client = try MQTTClient(id: id, settings: settings, url: place.url, isVersion5: isVersion5)
                prepare(client)
                do throws(MQTTError) {
                    return try await connected(client, to: place, on: thread)
                } catch {
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
            guard let addresses = await url.addresses(for: thread) else {
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

    private static func connected(
        _ client: MQTTClient,
        to place: Place,
        on thread: ServiceThread
    ) async throws(MQTTError) -> MQTTConnection {
        let deadline = SuspendingClock.now + MQTTClient.attemptLimit
        try client.connect(to: place.address)
        let connection = try MQTTConnection(client, to: place, on: thread)
        do throws(MQTTError) {
            while !client.isConnected {
                guard !Task.isCancelled, .now < deadline else {
                    throw .unreachable("\(client.url)", reason: "it does not answer")
                }
                try await connection.turn(until: deadline)
            }
        } catch {
            // A broker that was stopped would otherwise accept the client later, and publish its will.
            client.disconnect()
            connection.close()
            throw error
        }
        return connection
    }

    /// Suspends until something was read or written, until `deadline`, or until the task is cancelled. Throws if the
    /// connection has ended.
    package func turn(until deadline: SuspendingClock.Instant? = nil) async throws(MQTTError) {
        if let fault { throw fault }
        await thread.wait(orCancelled: ()) { waiters.append((deadline, $0)) }
        if let fault { throw fault }
    }

    /// Disconnects, so that the broker discards the will, and closes when that is sent, or after `limit`. Also in a
    /// cancelled task.
    package func disconnect(within limit: Duration = .milliseconds(500)) async {
        client.disconnect()
        await Task.detached(executorPreference: thread) { [self] in
            let deadline = SuspendingClock.now + limit
            while client.socket >= 0, .now < deadline, (try? await turn(until: deadline)) != nil {}
            close()
        }.value
    }

    /// Ends the connection. Without ``disconnect(within:)``, the broker publishes the will.
    package func close() {
        onTurn = {}
        end(fault ?? .lost("\(client.url)", reason: "it is closed"))
    }

    private func end(_ error: MQTTError) {
        fault = error
        thread.remove(self)
        resumeWaiters()
    }

    private func resumeWaiters() {
        for waiter in exchange(&waiters, with: []) { waiter.resume(()) }
        onTurn()
    }

    package func interest() -> (descriptors: [pollfd], deadline: SuspendingClock.Instant?) {
        let (descriptors, check) = client.interest()
        return (descriptors, ([check] + waiters.compactMap(\.end)).min())
    }

    package func turn(_ descriptors: [pollfd]) {
        do throws(MQTTError) {
            try client.turn(descriptors)
            resumeWaiters()
        } catch {
            end(error)
        }
    }
}

extension MQTTURL {
    /// The host as certificates have it: without the dot after which no search domain is tried.
    fileprivate var certifiedHost: String { host.hasSuffix(".") ? String(host.dropLast()) : host }

    /// All addresses of the host as numbers, because libmosquitto tries only one of a name, unless that one is refused
    /// immediately, and would block this thread. `nil` if there is none.
    fileprivate func addresses(for thread: ServiceThread) async -> [String]? {
        if let numeric = addresses(flags: AI_NUMERICHOST) { return numeric }
        return await thread.wait(orCancelled: [host]) { finish in
            ServiceThread.ownCode.call(at: .min) { finish(addresses(flags: 0)) }
        }
    }

    private func addresses(flags: Int32) -> [String]? {
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
