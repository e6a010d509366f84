import Foundation
import IndicatorBackends
import Logging

/// An app with desktop backends that executes commands from standard input. For tests that observe a process from
/// outside: what remains after it has ended, and how it runs without file descriptors.
///
/// Usage: `test-probe desktop [PART…]`; see `DesktopProbe` of `TestSupport` for the parts.
///
/// It runs no task on Swift's cooperative pool and has no libdispatch timer: both need file descriptors and end the
/// process without them.
enum DesktopProbe {
    static func run(_ arguments: [String]) throws {
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = .debug
            return handler
        }
        func value(_ name: String) -> String? { option(name, in: arguments) }
        func duration(_ option: String) -> Duration? { value(option).flatMap { Int($0) }.map { .seconds($0) } }
        if let limit = value("descriptors").flatMap({ rlim_t($0) }) {
            var limits = rlimit(rlim_cur: limit, rlim_max: limit)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        }
        Limits.apply(arguments)
        var backends: [any IndicatorBackend] = [OtherBackend()]
        #if DBus
        if arguments.contains("own") || value("own") != nil { OwnLibNotify.load(mainLoop: value("own") == "loop") }
        if arguments.contains("notification") {
            var settings = DesktopNotificationSettings()
            settings.through = value("through").flatMap { .init(rawValue: $0) } ?? .auto
            settings.isTransient = !arguments.contains("lasting")
            if arguments.contains("outcomes") { (settings.whenDone, settings.after) = (.always, .zero) }
            settings.expiry = duration("expiry") ?? settings.expiry
            (settings.timeout, settings.libraryLimit) = (duration("timeout"), .seconds(20))
            backends.append(DesktopNotificationBackend(applicationName: "probe", settings: settings))
        }
        if arguments.contains("property") { backends.append(DBusPropertyBackend(applicationName: "probe")) }
        let neighbour = arguments.contains("neighbour") ? Neighbour() : nil
        #else
        let neighbour: Neighbour? = nil
        #endif
        if arguments.contains("title") { backends.append(TerminalTitleBackend(applicationName: "probe")) }
        if let path = value("log") {
            backends.append(LogFileBackend(applicationName: "probe", settings: .init(path: path)))
        }
        value("compete").flatMap { Competitor(rawValue: $0) }?.start()
        let delays: IndicatorDelays =
            arguments.contains("delays")
            ? .standard : try IndicatorDelays(startDelay: .zero, completionDelay: duration("completion") ?? .zero)
        let manager =
            value("config").map { IndicatorManager.configured(from: ConfigurationSource(for: "probe", path: $0)) }
            ?? IndicatorManager(delays: delays, backends: backends)
        let probe = Probe(
            manager: manager,
            neighbour: neighbour,
            requests: Requests(),
            firstStates: Probe.states(of: manager)
        )
        say("ready")
        while let line = readLine() { say(probe.answer(to: line)) }
    }
}

/// The user's requests to cancel.
final class Requests: Sendable {
    let outcome = Locked("none")
    private let thread = ServiceThread(name: "requests", idleTime: .zero)

    /// Begins an activity whose task waits until it is cancelled.
    func begin(_ label: String, in manager: IndicatorManager) {
        outcome.withLock { $0 = "running" }
        let requests = manager.cancellationRequests
        let work = Task(executorPreference: thread) { [self] in
            try? await manager.withActivity(label) {
                let (stream, _) = AsyncStream<Void>.makeStream()
                for await _ in stream {}
                try Task.checkCancellation()
            }
            outcome.withLock { $0 = "cancelled" }
        }
        Task(executorPreference: thread) {
            for await _ in requests {
                work.cancel()
                break
            }
        }
    }

    /// Observes the requests.
    func observe(_ manager: IndicatorManager) {
        let requests = manager.cancellationRequests
        Task(executorPreference: thread) { [self] in
            for await request in requests { outcome.withLock { $0 = "requested: \(request.label ?? "")" } }
        }
    }
}

/// A backend that needs no desktop and does nothing.
struct OtherBackend: IndicatorBackend {
    let name = "other"
    func show(_ updates: IndicatorUpdates) async { for await _ in updates {} }
}

/// The app's commands: a name and its arguments, separated by tabs.
struct Probe {
    let manager: IndicatorManager
    let neighbour: Neighbour?
    let requests: Requests
    /// The states of the backends when the indicator had been made.
    let firstStates: String

    static func states(of manager: IndicatorManager) -> String {
        manager.backendStatuses.map { "\($0.name)=\($0.state)" }.joined(separator: "\t")
    }

    func answer(to line: String) -> String {
        let words = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        switch words[0] {
        case "begin": manager.start("work", label: words[1])
        case "label": manager.update("work") { $0.label = words[1] }
        case "attention": manager.update("work") { $0.attention = words[1].isEmpty ? nil : words[1] }
        case "long":
            manager.update("work") { $0.label = String(repeating: words[1], count: 100_000 / words[1].utf8.count) }
        case "end": manager.stop("work")
        case "begin-other": manager.start("other", label: words[1])
        case "end-other": manager.stop("other")
        case "fail": manager.stop("work", .failed(words[1]))
        case "succeed": manager.stop("work", .succeeded)
        case "cancel": manager.stop("work", .cancelled)
        case "bytes":
            manager.update("work") { ($0.completed, $0.total, $0.unit) = (Int(words[1]) ?? 0, Int(words[2]), .bytes) }
        case "cycles":
            for cycle in 1...(Int(words[1]) ?? 0) {
                manager.start("cycle", label: "cycle \(cycle)", progress: 0.5)
                manager.stop("cycle")
            }
        case "cancellable": requests.begin(words[1], in: manager)
        case "observe": requests.observe(manager)
        case "outcome": return requests.outcome.withLock { $0 }
        case "progress": manager.update("work") { $0.progress = Double(words[1]) }
        case "status": return Self.states(of: manager)
        case "first-status": return firstStates
        case "updates": return update(for: .seconds(Double(words[1]) ?? 0))
        case "delivered":
            return manager.backendStatuses.map { "\($0.name)=\($0.updatesDelivered)" }.joined(separator: "\t")
        case "available": return wait { await Self.availability() }
        case "flip":
            return "\(flip(times: Int(words[1]) ?? 0, within: .seconds(Double(words[2]) ?? 0)) / .seconds(1))"
        case "environment": setenv(words[1], words[2], 1)
        case "hangup": kill(getpid(), SIGHUP)
        case "task": return Self.sleepInTask()
        case "sigpipe": return disposition(of: SIGPIPE)
        case "memory": return statistic("VmRSS")
        case "neighbour": return neighbour?.fault ?? "ok"
        #if DBus
        case "own-load": OwnLibNotify.load(mainLoop: false)
        case "own-show": return OwnLibNotify.show(words[1]) ? "done" : "failed"
        case "own-close": OwnLibNotify.close()
        case "own-end": OwnLibNotify.end()
        #endif
        case "compete": Competitor(rawValue: words[1])?.start()
        case "compete-end": Competitor.stop()
        case "exhaust": Self.exhaustDescriptors()
        case "release": Self.releaseDescriptors()
        case "unlimit": Limits.remove()
        case "quit":
            wait { await manager.shutdown() }
            _exit(0)
        case "shutdown": wait { await manager.shutdown() }
        default: return "unknown command"
        }
        return "done"
    }

    /// Runs an asynchronous function on its own thread, and waits for the result.
    private func wait<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Result {
        let done = DispatchSemaphore(value: 0)
        let result = Locked<Result?>(nil)
        Task(executorPreference: Limits.thread) {
            let value = await body()
            result.withLock { $0 = value }
            done.signal()
        }
        done.wait()
        guard let result = result.withLock({ $0 }) else { preconditionFailure("the thread has ended") }
        return result
    }

    private static func availability() async -> String {
        #if DBus
        let kind = BackendKind.desktopNotification
        let context = BackendContext(name: kind.name, applicationName: "probe", logger: Logger(label: "probe"))
        let overrides: [String: SettingValue] = ["backends": [kind.name]]
        let source = ConfigurationSource(for: "probe", environment: [:], overrides: overrides)
        let configuration = try? IndicatorConfiguration.load(from: source)
        return switch await configuration?.backends[0].configured.availability(context) {
        case nil: "invalid"
        case .success(let detail): detail ?? ""
        case .failure(let problem): "\(problem.reason); \(problem.help ?? "")"
        }
        #else
        return "built without"
        #endif
    }

    /// Begins and ends an activity `times` times, evenly spread over a time. Returns how long that took.
    private func flip(times: Int, within duration: Duration) -> Duration {
        let start = ContinuousClock.now
        for index in 0..<times {
            manager.start("flip")
            manager.stop("flip")
            if index % 100 == 99 {
                let left = ContinuousClock.now.duration(to: start + duration * Double(index) / Double(times))
                if left > .zero { Thread.sleep(forTimeInterval: left / .seconds(1)) }
            }
        }
        return start.duration(to: .now)
    }

    /// Changes an activity 1000 times a second. Returns the seconds, and the milliseconds of CPU that the threads of
    /// the backends used.
    private func update(for duration: Duration) -> String {
        func time() -> Double {
            let tasks = "/proc/self/task"
            return ((try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []).reduce(0) { sum, task in
                func text(_ file: String) -> String {
                    (try? String(contentsOfFile: "\(tasks)/\(task)/\(file)", encoding: .utf8)) ?? ""
                }
                guard text("comm").hasPrefix("ind-") else { return sum }
                // Nanoseconds on a processor (Linux, Documentation/scheduler/sched-stats.rst).
                return sum + (text("schedstat").split(separator: " ").first.flatMap { Double($0) } ?? 0) / 1e6
            }
        }
        manager.start("work", label: "begin")
        let (start, before) = (ContinuousClock.now, time())
        var count = 0
        while start.duration(to: .now) < duration {
            count += 1
            manager.update("work") { ($0.label, $0.progress) = ("step \(count)", Double(count % 1000) / 1000) }
            Thread.sleep(forTimeInterval: 0.001)
        }
        return "\(start.duration(to: .now) / .seconds(1))\t\(time() - before)\t\(count)"
    }

    /// Runs a task with a timer: the app's first use of libdispatch.
    private static func sleepInTask() -> String {
        let done = DispatchSemaphore(value: 0)
        Task {
            try? await Task.sleep(for: .milliseconds(1))
            done.signal()
        }
        done.wait()
        return "done"
    }

    private static let taken = Locked<[Int32]>([])

    /// Opens files until the process can open no more.
    private static func exhaustDescriptors() {
        while true {
            let descriptor = open("/dev/null", O_RDONLY)
            guard descriptor >= 0 else { return }
            taken.withLock { $0.append(descriptor) }
        }
    }

    private static func releaseDescriptors() {
        for descriptor in taken.withLock({ taken in
            defer { taken = [] }
            return taken
        }) { close(descriptor) }
    }
}

/// Limits of the process, by the arguments `threads=` and `memory=`: how many more threads it may have than now, and
/// how many more kilobytes.
enum Limits {
    /// For the commands; started before the limits are set.
    static let thread = ServiceThread(name: "probe")

    /// RLIMIT_NPROC, which the C library declares only for _GNU_SOURCE.
    static let threads = __rlimit_resource_t(6)

    private static let resources = [
        ("threads=", threads), ("memory=", __rlimit_resource_t(RLIMIT_AS.rawValue)),
    ]

    static func apply(_ arguments: some Sequence<String>) {
        precondition(thread.start())
        for (name, resource) in resources {
            guard let text = arguments.first(where: { $0.hasPrefix(name) }),
                let more = rlim_t(text.dropFirst(name.count))
            else { continue }
            if name == "threads=" { becomeSomebody() }
            // What the app itself uses while the limit holds.
            free(malloc(1 << 20))
            let pages = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)).flatMap {
                Int($0.split(separator: " ")[0])
            }
            let now = name == "threads=" ? 2 : rlim_t(pages ?? 0) * 4096
            set(resource, now + more * (name == "threads=" ? 1 : 1024))
        }
    }

    static func remove() { for (_, resource) in resources { set(resource, .max) } }

    /// Only the soft limit, so that it can be removed.
    static func set(_ resource: __rlimit_resource_t, _ limit: rlim_t) {
        var limits = rlimit()
        getrlimit(resource, &limits)
        limits.rlim_cur = min(limit, limits.rlim_max)
        setrlimit(resource, &limits)
    }

    /// The kernel counts the threads of a real user, and does not limit root, nor those with these two capabilities
    /// (setrlimit(2)). The files and the bus are still those of root.
    private static func becomeSomebody() {
        guard getuid() == 0, let get = dlsym(nil, "capget"), let set = dlsym(nil, "capset") else { return }
        typealias Capabilities = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int32
        setreuid(1_000_000_000 + uid_t(getpid()), 0)
        // Version 3 and this process; all that it has but CAP_SYS_ADMIN and CAP_SYS_RESOURCE (capabilities(7)).
        var header: [UInt32] = [0x2008_0522, 0]
        var sets: [UInt32] = [0, 0, 0, 0, 0, 0]
        var status = unsafeBitCast(get, to: Capabilities.self)(&header, &sets)
        let low = ~(UInt32(1) << 21 | 1 << 24)
        (sets[0], sets[1], sets[2]) = (sets[1] & low, sets[1] & low, 0)
        if status == 0 { status = unsafeBitCast(set, to: Capabilities.self)(&header, &sets) }
        precondition(status == 0)
    }
}

/// Another part of the app, which uses libdbus independently.
final class Neighbour: Sendable {
    #if DBus
    private typealias Get = @convention(c) (Int32, OpaquePointer?) -> OpaquePointer?
    private typealias HasOwner = @convention(c) (OpaquePointer?, UnsafePointer<CChar>, OpaquePointer?) -> UInt32
    // Both are used by the thread of the probe's commands only.
    private nonisolated(unsafe) let library = dlopen("libdbus-1.so.3", RTLD_NOW)
    private nonisolated(unsafe) let bus: OpaquePointer?

    init() { bus = unsafeBitCast(dlsym(library, "dbus_bus_get"), to: Get.self)(0, nil) }

    /// What does not work, or `nil`.
    var fault: String? {
        let hasOwner = unsafeBitCast(dlsym(library, "dbus_bus_name_has_owner"), to: HasOwner.self)
        return hasOwner(bus, "org.freedesktop.DBus", nil) != 0 ? nil : "the connection to the bus does not work"
    }
    #else
    var fault: String? { nil }
    #endif
}
