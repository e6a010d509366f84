#if MQTT
import Foundation
import IndicatorBackends
import IndicatorCore

/// Measures many indicators on a private mosquitto on loopback, and the cost of one indicator for its app.
///
/// Usage: `mqtt-scale [INSTANCES [CONNECTIONS [SECONDS]]]`, by default 20000 instances on 20 connections, and 20
/// seconds of the steady state, in which each instance changes every ten seconds. `mqtt-scale storm [CONNECTIONS]`
/// measures that many real connections, by default 20000, that lose their broker and reconnect. Prints one line per
/// figure. The load is bounded, stays on 127.0.0.1, and ends by itself.
@main
struct MQTTScale {
    static func main() async throws {
        let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let count = numbers.first ?? 20000
        if CommandLine.arguments.contains("storm") { return try Crowd.measureStorm(count: count) }
        let connections = numbers.count > 1 ? numbers[1] : 20
        let seconds = numbers.count > 2 ? numbers[2] : 20
        for (title, limits) in [
            ("Debian's limits", ""),
            ("max_queued_messages 0, max_inflight_messages 0", "max_queued_messages 0\nmax_inflight_messages 0\n"),
        ] {
            print("## \(title)")
            let broker = try Broker(port: 18831, limits: limits)
            defer { broker.end() }
            try measure(broker, count: count, connections: connections, seconds: limits.isEmpty ? 0 : seconds)
        }
        print("## An app")
        let broker = try Broker(port: 18831, limits: "")
        defer { broker.end() }
        try await measureApp(broker, seconds: seconds)
    }

    private static func measure(_ broker: Broker, count: Int, connections: Int, seconds: Int) throws {
        var fleet = try Fleet(broker: broker, count: count, connections: connections)
        let births = try timed { try fleet.publishAll() }
        print("births: \(count) in \(text(births)), broker \(broker.cost)")
        try newcomer(broker, count: count)
        guard seconds > 0 else { return }
        // The watcher runs throughout, on its own thread.
        let watcher = WatcherThread(broker: broker)
        let before = (broker.cpu, processCPU())
        let steps = seconds * 10
        let start = ContinuousClock.now
        for step in 1...steps {
            try fleet.publish(count / 100)
            while ContinuousClock.now < start + .milliseconds(100 * step) {
                try fleet.turn(until: start + .milliseconds(100 * step))
            }
        }
        let elapsed = ContinuousClock.now - start
        let broker1 = (broker.cpu - before.0) / (elapsed / .seconds(1))
        print(
            "steady state: \(count / 10) messages a second for \(text(elapsed)); broker \(percent(broker1)) of a core, "
                + "watcher \(percent(watcher.cpu / (elapsed / .seconds(1)))), \(watcher.received) events"
        )
        let storm = try timed {
            fleet = try Fleet(broker: broker, count: count, connections: connections, epoch: 2)
            try fleet.publishAll()
            watcher.waitUntil { $0 >= count }
        }
        print(
            "storm: all connections lost and all births again, seen by the watcher: \(text(storm)), broker \(broker.cost)"
        )
        watcher.stop()
        let clients = try timed { try Fleet.connectAndClose(broker: broker, count: 2000) }
        print("2000 connections one by one, with wills: \(text(clients))")
    }

    fileprivate static func newcomer(_ broker: Broker, count: Int) throws {
        let wakeUp = try MQTTWakeUp()
        var settings = broker.settings
        settings.topic = Fleet.prefix
        let cpu = processCPU()
        let start = ContinuousClock.now
        let client = try connect(settings, id: "newcomer", wakeUp)
        let seen = Seen()
        client.onMessage = { message in
            _ = seen.roster.receive(message, at: .now); seen.last = .now
        }
        try client.subscribe(to: "\(Fleet.prefix)/+/+/+")
        while seen.roster.count < count, seen.last + .seconds(2) > .now {
            try client.turn(wakeUp, until: .now + .milliseconds(100))
        }
        print(
            "newcomer: \(seen.roster.count) of \(count) in \(text(seen.last - start)), its CPU \(text(.seconds(processCPU() - cpu))), "
                + "broker \(broker.cost)"
        )
    }

    private final class Seen {
        var roster = MQTTRoster(prefix: Fleet.prefix)
        var last = ContinuousClock.now
    }

    /// The cost of the backend at two messages a second, compared with the same app without it.
    private static func measureApp(_ broker: Broker, seconds: Int) async throws {
        let memoryBefore = residentKilobytes()
        let indicator = IndicatorManager(delays: try .init(startDelay: .zero, completionDelay: .zero))
        let activity = ManagedActivity("Working", in: indicator)
        let without = try run(activity, seconds: seconds)
        let memoryBetween = residentKilobytes()
        indicator.addBackend(MQTTBackend(applicationName: "app", settings: broker.settings))
        while indicator.backendStatuses.first?.state != .running { usleep(1000) }
        let with = try run(activity, seconds: seconds)
        print(
            "10 changes and 2 messages a second: \(percent(with)) of a core, without the backend \(percent(without)); "
                + "memory \(residentKilobytes() - memoryBetween) KiB more, the core \(memoryBetween - memoryBefore) KiB"
        )
        await indicator.shutdown()
    }

    private static func run(_ activity: ManagedActivity, seconds: Int) throws -> Double {
        let before = processCPU()
        for number in 0..<seconds * 10 {
            activity.update {
                $0.label = "Step \(number)"
                $0.progress = Double(number % 100) / 100
            }
            usleep(100_000)
        }
        return (processCPU() - before) / Double(seconds)
    }

    static func connect(_ settings: MQTTSettings, id: String, _ wakeUp: MQTTWakeUp, willTopic: String? = nil) throws
        -> MQTTClient
    {
        let client = try MQTTClient(id: id, settings: settings)
        if let willTopic { client.setWill(topic: willTopic, payload: MQTTReport.lost(epoch: 1).payload, expiry: 60) }
        try client.connect(usesIPv4Only: false)
        while !client.isConnected { try client.turn(wakeUp, until: .now + .seconds(20)) }
        return client
    }
}

/// Instances that share connections and publish the backend's messages.
private struct Fleet {
    static let prefix = "indicator/1"

    private var clients: [(client: MQTTClient, wakeUp: MQTTWakeUp)] = []
    private let topics: [String]
    private var sequence: [Int]
    private let epoch: Int
    private var next = 0

    init(broker: Broker, count: Int, connections: Int, epoch: Int = 1) throws {
        self.epoch = epoch
        topics = (0..<count).map {
            MQTTTopic(prefix: Self.prefix, host: "host-\($0 / 4)", app: "app-\($0 % 4)", instance: "\($0)-simulated")
                .state
        }
        sequence = Array(repeating: 0, count: count)
        for number in 0..<connections {
            let wakeUp = try MQTTWakeUp()
            clients.append((try MQTTScale.connect(broker.settings, id: "fleet-\(number)", wakeUp), wakeUp))
        }
    }

    mutating func publishAll() throws {
        try publish(topics.count)
        for (client, wakeUp) in clients { while client.unacknowledged > 0 { try client.turn(wakeUp) } }
    }

    mutating func publish(_ count: Int) throws {
        for _ in 0..<count {
            let (client, wakeUp) = clients[next % clients.count]
            while client.unacknowledged >= 20 { try client.turn(wakeUp) }
            sequence[next] += 1
            let snapshot = IndicatorSnapshot(
                state: .active,
                activityCount: 1,
                label: "Copying file \(sequence[next]) of 4711",
                progress: Double(sequence[next] % 100) / 100
            )
            let report = MQTTReport(snapshot, epoch: epoch, seq: sequence[next])
            try client.publish(
                topic: topics[next],
                payload: report.payload,
                retain: true,
                expiry: MQTTReport.stateExpiry
            )
            next = (next + 1) % topics.count
        }
    }

    func turn(until deadline: ContinuousClock.Instant) throws {
        for (client, wakeUp) in clients { try client.turn(wakeUp, until: min(deadline, .now + .milliseconds(1))) }
    }

    static func connectAndClose(broker: Broker, count: Int) throws {
        let wakeUp = try MQTTWakeUp()
        for number in 0..<count {
            let client = try MQTTScale.connect(broker.settings, id: "c\(number)", wakeUp, willTopic: "wills/\(number)")
            client.disconnect()
            while client.hasSocket { try? client.turn(wakeUp, until: .now + .seconds(1)) }
        }
    }
}

/// Instances that each have their own connection with a will, and reconnect as the backend does.
private struct Crowd {
    private struct Member {
        let topic: String
        let identifier: String
        var client: MQTTClient?
        var epoch = 0
        var failures = 0
        var nextAttempt = ContinuousClock.now
        var hasPublished = false
    }

    /// A connection needs a socket and libmosquitto's socket pair.
    private static let descriptorsPerMember = 3

    private var members: [Member] = []
    private let settings: MQTTSettings
    private let wakeUp: MQTTWakeUp

    static func measureStorm(count: Int) throws {
        var limit = rlimit(rlim_cur: 100_000, rlim_max: 100_000)
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        if setrlimit(resource, &limit) != 0 {
            getrlimit(resource, &limit)
            limit.rlim_cur = limit.rlim_max
            setrlimit(resource, &limit)
        }
        let count = min(count, (Int(limit.rlim_cur) - 100) / descriptorsPerMember)
        print("## A storm of \(count) connections; \(limit.rlim_cur) descriptors")
        let limits = "max_queued_messages 0\nmax_inflight_messages 0\n"
        var broker = try Broker(port: 18831, limits: limits)
        defer { broker.end() }
        var crowd = try Crowd(broker: broker, count: count)
        let births = try timed { try crowd.connectAll() }
        print("connections and births: \(count) in \(text(births)), broker \(broker.cost)")
        try MQTTScale.newcomer(broker, count: count)
        // The members notice the loss, wait, and fail to reconnect.
        broker.end(SIGKILL)
        try crowd.turn(until: .now + .seconds(1))
        broker = try Broker(port: 18831, limits: limits)
        let watcher = WatcherThread(broker: broker, quietTime: 0)
        let cpu = processCPU()
        let storm = try timed { try crowd.connectAll() }
        print("storm: all connected and born again in \(text(storm)), broker \(broker.cost)")
        print("    the connections' own CPU and the watcher's \(text(.seconds(processCPU() - cpu)))")
        let rest = timed { watcher.waitUntil(count: count) }
        print("    the watcher has all \(text(rest)) later, with \(text(.seconds(watcher.cpu))) of CPU")
        try MQTTScale.newcomer(broker, count: count)
        watcher.stop()
    }

    private init(broker: Broker, count: Int) throws {
        settings = broker.settings
        wakeUp = try MQTTWakeUp()
        members = (0..<count).map {
            let topic = MQTTTopic(
                prefix: Fleet.prefix,
                host: "host-\($0 / 4)",
                app: "app-\($0 % 4)",
                instance: "\($0)-simulated"
            )
            return Member(topic: topic.state, identifier: "crowd-\($0)")
        }
    }

    /// Returns when the broker has acknowledged the birth of every member.
    private mutating func connectAll() throws {
        while members.contains(where: { !$0.hasPublished || $0.client?.unacknowledged != 0 }) {
            try turn(until: .now)
        }
    }

    /// Gives every member at least one turn.
    private mutating func turn(until end: ContinuousClock.Instant) throws {
        repeat {
            for index in members.indices { try turn(&members[index]) }
        } while ContinuousClock.now < end
    }

    private func turn(_ member: inout Member) throws {
        do {
            guard let client = member.client else {
                guard .now >= member.nextAttempt else { return }
                member.epoch += 1
                let client = try MQTTClient(id: member.identifier, settings: settings)
                let will = MQTTReport.lost(epoch: member.epoch).payload
                client.setWill(topic: member.topic, payload: will, expiry: MQTTReport.lostExpiry)
                member.client = client
                try client.connect(usesIPv4Only: false)
                return
            }
            try client.turn(wakeUp, until: .now)
            guard client.isConnected, !member.hasPublished else { return }
            let snapshot = IndicatorSnapshot(state: .active, activityCount: 1, label: "Copying files", progress: 0.5)
            let payload = MQTTReport(snapshot, epoch: member.epoch, seq: 1).payload
            try client.publish(topic: member.topic, payload: payload, retain: true, expiry: MQTTReport.stateExpiry)
            member.hasPublished = true
        } catch MQTTError.noResources(let reason) {
            throw MQTTError.noResources(reason: reason)
        } catch {
            (member.client, member.hasPublished) = (nil, false)
            member.failures = min(member.failures + 1, MQTTBackend.mostFailures)
            member.nextAttempt = .now + MQTTBackend.pause(afterFailures: member.failures)
        }
    }
}

/// A watcher on its own thread.
private final class WatcherThread: @unchecked Sendable {
    // `@unchecked`: the variables are used with the lock held.
    private let lock = NSLock()
    private var events = 0
    private var secondLives = 0
    private var known = 0
    private var time = 0.0
    private var isStopped = false

    init(broker: Broker, quietTime: UInt32 = 3) {
        let settings = broker.settings
        Thread.detachNewThread { [self] in
            do {
                let wakeUp = try MQTTWakeUp()
                let client = try MQTTScale.connect(settings, id: "watcher", wakeUp)
                var roster = MQTTRoster(prefix: Fleet.prefix)
                client.onMessage = { [self] message in
                    let event = roster.receive(message, at: .now)
                    lock.withLock {
                        known = roster.count
                        if event != nil { events += 1 }
                        if case .changed(_, let report)? = event, report.epoch == 2 { secondLives += 1 }
                    }
                }
                try client.subscribe(to: "\(Fleet.prefix)/+/+/+")
                while !lock.withLock({ isStopped }) {
                    try client.turn(wakeUp, until: .now + .milliseconds(100))
                    var usage = rusage()
                    getrusage(__rusage_who_t(1), &usage)
                    lock.withLock { time = seconds(usage) }
                }
            } catch { print("watcher: \(error)") }
        }
        sleep(quietTime)
        base = lock.withLock { time }
    }

    private var base = 0.0
    var cpu: Double { lock.withLock { time } - base }
    var received: Int { lock.withLock { events } }

    func waitUntil(_ condition: (Int) -> Bool) {
        let end = ContinuousClock.now + .seconds(60)
        while !condition(lock.withLock { secondLives }), ContinuousClock.now < end { usleep(1000) }
        if ContinuousClock.now >= end { print("the watcher has seen only \(lock.withLock { secondLives })") }
    }

    func waitUntil(count: Int) {
        let end = ContinuousClock.now + .seconds(60)
        while lock.withLock({ known }) < count, ContinuousClock.now < end { usleep(1000) }
        if ContinuousClock.now >= end { print("the watcher has seen only \(lock.withLock { known })") }
    }

    func stop() { lock.withLock { isStopped = true } }
}

/// A mosquitto on loopback.
private final class Broker {
    let settings: MQTTSettings
    private let process = Process()
    private let file: String

    init(port: Int, limits: String) throws {
        var settings = MQTTSettings(url: try MQTTURL("mqtt://127.0.0.1:\(port)"))
        settings.host = "measured"
        self.settings = settings
        file = NSTemporaryDirectory() + "mqtt-scale-\(getpid()).conf"
        try "listener \(port) 127.0.0.1\nallow_anonymous true\n\(limits)".write(
            toFile: file,
            atomically: true,
            encoding: .utf8
        )
        process.executableURL = URL(filePath: "/usr/sbin/mosquitto")
        process.arguments = ["-c", file]
        process.standardError = FileHandle.nullDevice
        try process.run()
        usleep(500_000)
    }

    func end(_ signal: Int32 = SIGTERM) {
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: file)
    }

    /// In seconds.
    var cpu: Double {
        let fields =
            (try? String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8))?
            .split(separator: ")").last?.split(separator: " ") ?? []
        return fields.count > 12 ? ((Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)) / 100 : 0
    }

    var cost: String {
        "\(text(.seconds(cpu))) of CPU and \(residentKilobytes(process.processIdentifier) / 1024) MiB so far"
    }
}

private func timed(_ body: () throws -> Void) rethrows -> Duration { try ContinuousClock().measure(body) }
private func text(_ duration: Duration) -> String { String(format: "%.2f s", duration / .seconds(1)) }
private func percent(_ value: Double) -> String { String(format: "%.2f %%", value * 100) }

private func seconds(_ usage: rusage) -> Double {
    Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
        / 1e6
}

private func processCPU() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(0), &usage)
    return seconds(usage)
}

private func residentKilobytes(_ process: Int32 = getpid()) -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return line.split(separator: " ").compactMap { Int($0) }.first ?? 0
}
#else
@main
struct MQTTScale {
    static func main() { print("this build has no MQTT; build with the trait MQTT") }
}
#endif
