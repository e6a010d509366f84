#if MQTT
import ArgumentParser
import Foundation
import IndicatorBackends
import IndicatorCommands
import IndicatorCore

/// Measures thousands of indicators on a private mosquitto on loopback, and the cost of the backend in one app.
///
/// Usage: `mqtt-scale [CONNECTIONS]`, by default 20 000, or as many as the descriptor limit allows one broker. Several
/// processes hold the connections, each with a will. Measures births, a steady state in which each instance changes
/// once in ten seconds, a storm in which all reconnect to a restarted broker, and watchers: `indicator watch` itself.
/// `mqtt-scale app [SECONDS]` measures an app: the same program without the backend, with it, and with it and TLS, each
/// in a process of its own. `mqtt-scale decode [MESSAGES]` measures how many states a watcher processes in a second.
/// Prints a line for each figure. The load is bounded, uses only 127.0.0.1, and ends by itself.
@main
struct MQTTScale {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let numbers = arguments.compactMap { Int($0) }
        switch arguments.first {
        // The helper processes.
        case "crowd": try Crowd(numbers: numbers[0]..<numbers[1]).run()
        case "watch": await WatchCommand.main(Array(arguments.dropFirst()))
        case "member": try await Member(arguments: Array(arguments.dropFirst(2))).run(seconds: numbers[0])
        case "decode": measureDecoding(count: numbers.first ?? 100_000)
        case "app": try measureApp(seconds: numbers.first ?? 60)
        default: try measure(count: numbers.first ?? 20000)
        }
    }

    /// How many states a watcher processes in a second: decoded, compared with the last one, and made a line.
    private static func measureDecoding(count: Int) {
        let topic = MQTTTopic(prefix: "p", host: "h", app: "a", instance: "i")
        var roster = MQTTRoster(prefix: "p")
        var length = 0
        let start = ContinuousClock.now
        for number in 1...count {
            let state = #"""
                {"activities":[{"label":"Copying photos","progress":0.4,"since":"2026-01-01T00:00:00.000Z"}],\#
                "count":1,"epoch":1,"label":"Copying \#(number)","progress":0.4,"seq":\#(number),\#
                "since":"2026-01-01T00:00:00.000Z","state":"active","visible":true}
                """#
            Array(state.utf8).withUnsafeBytes { payload in
                let message = MQTTClient.Message(topic: topic.state, payload: payload, isRetained: false, expiry: nil)
                guard let event = roster.receive(message, at: start) else { return }
                for case .event(let event) in BrokerOptions.reports(of: .event(event)) { length += event.text.count }
            }
        }
        let time = ContinuousClock.now - start
        say("\(count) states: \(time / count) each, \(Int(Double(count) / (time / .seconds(1)))) a second; \(length)")
    }

    private static func measure(count wanted: Int) throws {
        let descriptors = raiseDescriptorLimit()
        let count = min(wanted, descriptors - 50)
        say("## \(count) connections; \(descriptors) descriptors a process; load \(load)")
        let folder = FileManager.default.temporaryDirectory.appending(path: "mqtt-scale-\(getpid())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let unlimited = "max_queued_messages 0\nmax_inflight_messages 0\n"
        var broker = try Helper.broker(in: folder, limits: unlimited)
        let watcher = try Watcher()

        let start = ContinuousClock.now
        var crowds: [Helper] = []
        let members = (descriptors - 100) / Crowd.descriptorsPerMember
        let processes = (count + members - 1) / members
        for number in 0..<processes {
            let range = [number, number + 1].map { "\(count * $0 / processes)" }
            crowds.append(try Helper(itself: ["crowd"] + range))
        }
        func born() -> Int { crowds.reduce(0) { $0 + (Int($1.lastLine) ?? 0) } }
        waitUntil { born() == count }
        say("births, by \(processes) processes: \(text(.now - start)); broker \(broker.cost)")
        waitUntil { watcher.known == count }
        say("    the watcher knew all \(text(.now - start)) after the beginning, \(watcher.helper.cost)")
        try newcomer(of: count, broker)

        let before = ([broker, watcher.helper] + crowds).map(\.cpu)
        let (steadyStart, events) = (ContinuousClock.now, watcher.events)
        sleep(30)
        let seconds = (ContinuousClock.now - steadyStart) / .seconds(1)
        let shares = zip([broker, watcher.helper] + crowds, before).map { ($0.cpu - $1) / seconds }
        say(
            """
            steady state, \(count / 10) changes a second: broker \(percent(shares[0])) of a core and \
            \(broker.memory) MiB, watcher \(percent(shares[1])) and \(watcher.helper.memory) MiB, \
            \(Int(Double(watcher.events - events) / seconds)) events a second; the \(processes) processes \
            \(percent(shares.dropFirst(2).reduce(0, +))); load \(load)
            """
        )

        broker.end()
        waitUntil { born() == 0 }
        // The clients retry, and fail without a broker.
        sleep(1)
        let clients = crowds.reduce(0) { $0 + $1.cpu }
        let watcherBefore = watcher.helper.cpu
        let storm = ContinuousClock.now
        broker = try Helper.broker(in: folder, limits: unlimited)
        var marks = [0.5, 0.9, 0.99].map { Int($0 * Double(count)) }
        waitUntil {
            while let mark = marks.first, born() >= mark {
                say("    \(mark) are back after \(text(.now - storm))")
                marks.removeFirst()
            }
            return born() == count
        }
        say(
            """
            storm: all are back \(text(.now - storm)) after the broker was started; broker \(broker.cost), the \
            processes \(text(.seconds(crowds.reduce(0) { $0 + $1.cpu } - clients))); load \(load)
            """
        )
        waitUntil { watcher.renewed == count }
        say(
            """
                the watcher had seen all of them after \(text(.now - storm)), with \
            \(text(.seconds(watcher.helper.cpu - watcherBefore))) of CPU and \(watcher.helper.memory) MiB
            """
        )
        try newcomer(of: count, broker)

        // The broker first, so that it does not publish any wills.
        broker.end()
        for helper in crowds + [watcher.helper] { helper.end() }
        broker = try Helper.broker(in: folder, limits: "")
        say("with mosquitto's default limits:")
        try newcomer(of: count, broker)
        broker.end()
    }

    /// Measures a new watcher, from the start of its process to the last line that it prints.
    private static func newcomer(of count: Int, _ broker: Helper) throws {
        let before = broker.cpu
        let start = ContinuousClock.now
        let watcher = try Watcher()
        var (known, time) = (0, start)
        while known < count, time + .seconds(10) > .now {
            if watcher.known > known { (known, time) = (watcher.known, .now) }
            usleep(1000)
        }
        say(
            """
                newcomer: \(known) of \(count) in \(text(time - start)), \(watcher.helper.cost); broker \
            \(text(.seconds(broker.cpu - before))) of CPU
            """
        )
        watcher.helper.end()
    }

    /// Measures the backend at two messages a second, compared to the same program without it.
    ///
    /// The program links libmosquitto, libssl and libcrypto in any case: their pages are part of each figure.
    private static func measureApp(seconds: Int) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "mqtt-scale-\(getpid())").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let (certificate, key, port) = (folder + "/certificate.pem", folder + "/key.pem", Helper.port + 1)
        let openssl = try Process.run(
            URL(filePath: "/usr/bin/openssl"),
            arguments: [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=mqtt-scale", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                certificate,
            ]
        )
        openssl.waitUntilExit()
        let listener = "listener \(port) 127.0.0.1\ncertfile \(certificate)\nkeyfile \(key)"
        let broker = try Helper.broker(in: folder, limits: listener)
        defer { broker.end() }
        var base: [Int]?
        for arguments in [[], ["\(try settings().urls[0])"], ["mqtts://127.0.0.1:\(port)", certificate]] {
            let app = try Helper(itself: ["member", "\(seconds)"] + arguments)
            waitUntil { !app.lastLine.isEmpty }
            let figures = app.lastLine.split(separator: " ").compactMap { Int($0) }
            app.end()
            base = base ?? figures
            let share = Double(figures[0]) / 100 / Double(seconds)
            let more = zip(figures, base ?? []).map { $0 - $1 }
            say(
                """
                10 changes a second for \(seconds) s, \(arguments.first ?? "without the backend"): \
                \(percent(share)) of a core; \(figures[1]) KiB resident (\(more[1]) \
                more), \(figures[2]) of them private (\(more[2]) more), \(figures[3]) of libmosquitto, libssl and \
                libcrypto; load \(load)
                """
            )
        }
    }

    fileprivate static func settings() throws -> MQTTSettings {
        MQTTSettings(url: try MQTTURL("mqtt://127.0.0.1:\(Helper.port)"))
    }

    /// Raises the limit to its maximum, at most 100 000. Processes that are started later inherit it.
    private static func raiseDescriptorLimit() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        getrlimit(resource, &limit)
        limit.rlim_cur = min(limit.rlim_max, 100_000)
        setrlimit(resource, &limit)
        return Int(limit.rlim_cur)
    }
}

/// An app that changes its activity ten times a second, without the backend or with it.
private struct Member {
    /// The broker's address and the file of its certificate, if any.
    let arguments: [String]

    /// Prints hundredths of a second of CPU, and the memory in KiB: resident, private, and that of the libraries.
    func run(seconds: Int) async throws {
        let indicator = IndicatorManager(delays: try .init(startDelay: .zero, completionDelay: .zero))
        if let url = arguments.first {
            var settings = MQTTSettings(url: try MQTTURL(url))
            settings.caFile = arguments.dropFirst().first
            indicator.addBackend(MQTTBackend(applicationName: "app", settings: settings))
            while indicator.backendStatuses.first?.state != .running { usleep(1000) }
        }
        let activity = ManagedActivity("Working", in: indicator)
        let before = processCPU(getpid())
        for number in 0..<seconds * 10 {
            activity.update {
                $0.label = "Step \(number)"
                $0.progress = Double(number % 100) / 100
            }
            usleep(100_000)
        }
        let hundredths = Int((processCPU(getpid()) - before) * 100)
        let memory = ["VmRSS:", "RssAnon:"].map { memoryKilobytes(getpid(), $0) }
        let libraries = ["libmosquitto", "libssl", "libcrypto"].reduce(0) { $0 + residentKilobytes(ofLibrary: $1) }
        say("\(hundredths) \(memory[0]) \(memory[1]) \(libraries)")
        await indicator.shutdown()
    }
}

/// Instances that each have a connection with a will, and reconnect as the backend does.
///
/// Prints how many the broker has acknowledged whenever that number changes, until standard input ends.
private final class Crowd {
    private struct Member {
        let topic: MQTTTopic
        let identifier: String
        var client: MQTTClient?
        var epoch = 0
        /// How many connections the broker has acknowledged.
        var lives = 0
        var failures = 0
        var nextAttempt = ContinuousClock.now
        var nextChange = ContinuousClock.now
        var seq = 0
        var isBorn = false
    }

    /// A connection needs its socket and a socket pair of libmosquitto.
    static let descriptorsPerMember = 3
    /// How many connect simultaneously at the beginning. mosquitto's listen backlog is 100.
    private static let mostAtBirth = 25

    private var members: [Member]
    private let settings: MQTTSettings

    init(numbers: Range<Int>) throws {
        settings = try MQTTScale.settings()
        members = numbers.map {
            let topic = MQTTTopic(
                prefix: MQTTSettings.standardTopic,
                host: "host-\($0 / 4)",
                app: "app-\($0 % 4)",
                instance: "\($0)-simulated"
            )
            return Member(topic: topic, identifier: "crowd-\($0)")
        }
    }

    func run() throws {
        // This thread uses the connections and does not block the signal.
        signal(SIGPIPE, SIG_IGN)
        var reported = 0
        while true {
            var descriptors = members.map { pollfd(fd: $0.client?.socket ?? -1, events: Int16(POLLIN), revents: 0) }
            descriptors.append(pollfd(fd: 0, events: Int16(POLLIN), revents: 0))
            poll(&descriptors, nfds_t(descriptors.count), 0)
            if descriptors.removeLast().revents != 0 { return }
            let now = ContinuousClock.now
            var connecting = members.count { $0.client != nil && !$0.isBorn }
            for index in members.indices where descriptors[index].revents != 0 || isDue(members[index], now) {
                // Limits how many connect simultaneously for the first time.
                if members[index].client == nil, members[index].epoch == 0 {
                    guard connecting < Self.mostAtBirth else { continue }
                    connecting += 1
                }
                try turn(&members[index], now)
            }
            let born = members.count(where: \.isBorn)
            if born != reported {
                say("\(born)")
                reported = born
            }
            usleep(born == members.count ? 20_000 : 1000)
        }
    }

    private func isDue(_ member: Member, _ now: ContinuousClock.Instant) -> Bool {
        if member.isBorn { return now >= member.nextChange }
        return member.client != nil || now >= member.nextAttempt
    }

    private func turn(_ member: inout Member, _ now: ContinuousClock.Instant) throws {
        do {
            guard let client = member.client else {
                member.epoch += 1
                member.seq = 0
                let client = try MQTTClient(id: member.identifier, settings: settings)
                let will = MQTTReport.lost(epoch: member.epoch).payload
                client.setWill(topic: member.topic.lost, payload: will, expiry: MQTTReport.lostExpiry)
                member.client = client
                try client.connect()
                return
            }
            var descriptors = client.interest().descriptors
            poll(&descriptors, 1, 0)
            try client.turn(descriptors)
            guard client.isConnected else { return }
            if member.seq == 0 {
                member.lives += 1
                member.nextChange = now + .seconds(.random(in: 0...10))
                try publish(&member, client)
            } else if client.unacknowledged == 0 {
                member.isBorn = true
            }
            guard member.isBorn, now >= member.nextChange else { return }
            member.nextChange += .seconds(10)
            try publish(&member, client)
        } catch MQTTError.noResources(let reason) {
            throw MQTTError.noResources(reason: reason)
        } catch {
            member.failures = member.isBorn ? 1 : min(member.failures + 1, 6)
            // As a runner does, which begins with a second.
            member.nextAttempt = now + MQTTWatcher.pause(afterFailures: member.failures - 1)
            (member.client, member.isBorn) = (nil, false)
        }
    }

    private func publish(_ member: inout Member, _ client: MQTTClient) throws {
        member.seq += 1
        let snapshot = IndicatorSnapshot(
            state: .active,
            activityCount: 1,
            label: "\(member.lives) Copying file \(member.seq)",
            progress: Double(member.seq % 100) / 100
        )
        let report = MQTTReport(snapshot, epoch: member.epoch, seq: member.seq)
        let expiry = UInt32(report.expiry)
        try client.publish(topic: member.topic.state, payload: report.payload, retain: true, expiry: expiry)
        if member.seq == 1, member.epoch > 1 { try client.publish(topic: member.topic.lost, payload: [], retain: true) }
    }
}

/// A process of `indicator watch --mqtt`, and its output.
private final class Watcher {
    private struct State {
        var known: Set<Substring> = []
        var renewed: Set<Substring> = []
        var events = 0
    }

    private final class Tally: Sendable {
        let state = Locked(State())

        func add(_ line: String) {
            // Such as `h/a/INSTANCE changed: shown, active, 1 activity, 'LABEL'`.
            let words = line.split(separator: " ", maxSplits: 2)
            guard words.count > 1 else { return }
            state.withLock { state in
                state.events += 1
                if words[1] == "vanished" { state.known.remove(words[0]) } else { state.known.insert(words[0]) }
                if words.count > 2, line.contains("'"), !line.contains("'1 ") { state.renewed.insert(words[0]) }
            }
        }
    }

    let helper: Helper
    private let tally = Tally()

    init() throws {
        let tally = tally
        let url = "\(try MQTTScale.settings().urls[0])"
        helper = try Helper(itself: ["watch", "--mqtt", url]) { tally.add($0) }
    }

    /// The number of instances that have appeared and not vanished.
    var known: Int { tally.state.withLock { $0.known.count } }
    /// The number of instances that have reconnected.
    var renewed: Int { tally.state.withLock { $0.renewed.count } }
    var events: Int { tally.state.withLock { $0.events } }
}

/// A measured process, which ends with this one.
private final class Helper {
    static let port = 18831

    private let process = Process()
    private let input = Pipe()
    private let line = LastLine()

    private final class LastLine: Sendable {
        let text = Locked("")
    }

    /// Starts this program with other arguments.
    convenience init(itself arguments: [String], onLine: @escaping @Sendable (String) -> Void = { _ in }) throws {
        let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        try self.init(path, arguments, onLine: onLine)
    }

    private init(_ path: String, _ arguments: [String], onLine: @escaping @Sendable (String) -> Void) throws {
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.standardInput = input
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let (line, descriptor) = (line, output.fileHandleForReading.fileDescriptor)
        Thread.detachNewThread {
            guard let file = fdopen(dup(descriptor), "r") else { return }
            var buffer: UnsafeMutablePointer<CChar>?
            var size = 0
            while getline(&buffer, &size, file) > 0, let buffer {
                let text = String(cString: buffer).trimmingCharacters(in: .newlines)
                line.text.withLock { $0 = text }
                onLine(text)
            }
            withExtendedLifetime(output) {}
        }
    }

    /// Starts a mosquitto that saves retained messages in a folder every ten seconds.
    static func broker(in folder: String, limits: String) throws -> Helper {
        let file = folder + "/mosquitto-\(getpid()).conf"
        let settings = """
            listener \(port) 127.0.0.1
            allow_anonymous true
            \(geteuid() == 0 ? "user root" : "")
            persistence true
            persistence_location \(folder)/
            autosave_interval 10
            log_dest none
            \(limits)
            """
        try settings.write(toFile: file, atomically: true, encoding: .utf8)
        let broker = try Helper("/usr/bin/setpriv", ["--pdeathsig", "KILL", "/usr/sbin/mosquitto", "-c", file]) { _ in }
        waitUntil { accepts(port) }
        return broker
    }

    deinit {
        end()
    }

    /// Kills it.
    func end() {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// The last line that it printed.
    var lastLine: String { line.text.withLock { $0 } }
    /// In seconds.
    var cpu: Double { processCPU(process.processIdentifier) }
    /// In MiB.
    var memory: Int { memoryKilobytes(process.processIdentifier) / 1024 }
    var cost: String { "\(text(.seconds(cpu))) of CPU and \(memory) MiB" }
}

/// Whether a server listens on a local port.
private func accepts(_ port: Int) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
    }
}

/// Checks the condition every few milliseconds, for five minutes at most.
private func waitUntil(_ condition: () -> Bool) {
    let end = ContinuousClock.now + .seconds(300)
    while !condition() {
        if .now > end { return say("given up after five minutes") }
        usleep(5000)
    }
}

/// Prints a line without buffering, also into a pipe.
private func say(_ line: String) { try? Output.standard.write(line + "\n") }

private func text(_ duration: Duration) -> String { String(format: "%.2f s", duration / .seconds(1)) }
private func percent(_ value: Double) -> String { String(format: "%.2f %%", value * 100) }

/// The machine's load average over the last minute.
private var load: String {
    (try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8))?.split(separator: " ").first.map { "\($0)" } ?? ""
}

private func processCPU(_ process: Int32) -> Double {
    let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    let fields = status?.split(separator: ")").last?.split(separator: " ") ?? []
    return fields.count > 12 ? ((Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)) / 100 : 0
}

private func memoryKilobytes(_ process: Int32, _ kind: String = "VmRSS:") -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(kind) } ?? ""
    return line.split(separator: " ").compactMap { Int($0) }.first ?? 0
}

/// The resident memory of a library in this process.
private func residentKilobytes(ofLibrary name: String) -> Int {
    var (sum, isCounted) = (0, false)
    // `String(contentsOfFile:)` reads only the beginning of a long file in /proc.
    let maps = try? FileHandle(forReadingAtPath: "/proc/self/smaps")?.readToEnd()
    for line in String(decoding: maps ?? Data(), as: UTF8.self).split(separator: "\n") {
        let words = line.split(separator: " ", omittingEmptySubsequences: true)
        // The first line of a mapping begins with its addresses; the others with a name and a colon.
        if !words[0].hasSuffix(":") { isCounted = line.contains("/" + name) }
        if isCounted, words[0] == "Rss:" { sum += Int(words[1]) ?? 0 }
    }
    return sum
}
#else
@main
struct MQTTScale {
    static func main() { print("this build has no MQTT; build with the trait MQTT") }
}
#endif
