#if MQTT
import Foundation
import IndicatorBackends
import IndicatorThreads
import TestSupport
import Testing

/// `indicator watch --mqtt`, on a private broker.
@Suite struct BrokerOptionsTests {
    private func watch(_ broker: MosquittoBroker, _ options: String...) throws -> Daemon {
        try watch(broker, options)
    }

    private func watch(_ broker: MosquittoBroker, _ options: [String]) throws -> Daemon {
        try Daemon(try Command.built("indicator"), ["watch", "--mqtt", broker.url] + options)
    }

    private func app(
        _ broker: MosquittoBroker,
        url: String? = nil,
        host: String = "h",
        in folder: TemporaryDirectory,
        wrapper: [String] = []
    ) async throws -> Daemon {
        let url = url ?? broker.url
        let config = "backends: [mqtt]\nstartDelay: 0\nmqtt: {url: '\(url)', host: '\(host)', interval: 0}\n"
        let path = try folder.write(config, to: "\(host).yaml")
        let command = wrapper + [try Command.built("test-probe"), "desktop", "config=\(path)"]
        let app = try Daemon(command[0], Array(command.dropFirst()))
        #expect(await eventually { app.output.hasPrefix("ready\n") })
        return app
    }

    @Test(
        "Instances that exist, appear, change, are lost and vanish are printed; a late watcher sees all; --forget works",
        .needs(.broker)
    )
    func lifecycle() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let watch = try watch(broker)
        let first = try await app(broker, in: folder)
        #expect(
            await eventually {
                watch.output.contains("h/probe/") && watch.output.contains(" appeared: hidden\n")
            }
        )
        first.write("begin\tCopying")
        #expect(await eventually { watch.output.contains(" changed: shown, 1 activity, 'Copying'\n") })
        let second = try await app(broker, host: "other", in: folder)
        #expect(await eventually { watch.output.contains("other/probe/") })

        let late = try self.watch(broker, "--json")
        let filtered = try self.watch(broker, "--host", "other")
        #expect(
            await eventually {
                late.output.count(where: \.isNewline) == 2 && late.output.contains(#""label":"Copying""#)
            }
        )
        #expect(await eventually { filtered.output.contains(/^other\/probe\/\S+ appeared: hidden\n/) })

        await first.end()
        #expect(await eventually { watch.output.contains(" lost: shown, 1 activity, 'Copying'\n") })
        second.write("quit")
        #expect(await eventually { watch.output.contains(" vanished\n") })
        #expect(await eventually { filtered.output.contains(/\nother\/probe\/\S+ vanished\n/) })

        let ghosts = try self.watch(broker)
        #expect(await eventually { ghosts.output.hasSuffix(" lost: shown, 1 activity, 'Copying'\n") })
        let forget = try await Command.run(
            try Command.built("indicator"),
            ["watch", "--mqtt", broker.url, "--forget"]
        )
        #expect(forget.status == 0 && forget.output.hasSuffix(" forgotten\n"), "\(forget)")
        #expect(await eventually { ghosts.output.hasSuffix(" vanished\n") })
        #expect(try await broker.retained().isEmpty)
        for daemon in [watch, late, filtered, ghosts] {
            #expect(daemon.errors == "")
            await daemon.end(SIGINT)
        }
    }

    @Test(.needs(.broker))
    func `--app, --host and --topic select indicators, also in combination and with several values`() async throws {
        let broker = try await MosquittoBroker()
        let topics = ["1/h1/backup/i", "1/h1/build/i", "1/h2/backup/i", "1/h2/test/i", "other/h1/backup/i"]
        for topic in topics {
            let state = #"{"state":"active","epoch":1,"seq":1,"label":"\#(topic)"}"#
            try await broker.publish("indicator/\(topic)", "-r", "-m", state)
        }
        let selections: [([String], [Int])] = [
            ([], [0, 1, 2, 3]), (["--app", "backup"], [0, 2]), (["--app", "build", "--app", "test"], [1, 3]),
            (["--app", "backup", "--host", "h2"], [2]), (["--topic", "indicator/other"], [4]),
            (["--topic", "indicator/other", "--app", "backup", "--app", "build"], [4]),
        ]
        for (options, selected) in selections {
            let watch = try watch(broker, options)
            let expected = selected.map { topics[$0] }
            func lines() -> Set<String> { Set(watch.output.matches(of: /'(.+)'/).map { String($0.1) }) }
            #expect(await eventually { lines().isSuperset(of: expected) })
            // A later message, so that all earlier ones have arrived.
            let end = #"{"state":"active","epoch":1,"seq":1,"label":"end"}"#
            try await broker.publish("indicator/\(expected[0])nd", "-m", end)
            #expect(await eventually { lines().contains("end") })
            #expect(lines() == Set(expected + ["end"]), "\(options)")
            await watch.end(SIGINT)
        }
    }

    @Test(
        "User name, password and TLS: the password is in no argument, and a wrong one is an error without it",
        .needs("openssl", package: "openssl"),
        .needs(.broker)
    )
    func credentials() async throws {
        let address = try LoopbackAddress().host
        let certificates = try await Certificates(address: address)
        let broker = try await MosquittoBroker(
            settings: """
                allow_anonymous false
                password_file FOLDER/passwords
                acl_file FOLDER/acl
                \(certificates.brokerSettings)
                """,
            files: [
                "passwords": try await MosquittoBroker.passwordFile(user: "me", password: "hush"),
                "acl": "user me\ntopic readwrite indicator/1/#\n",
            ],
            address: address,
            clientOptions: ["-u", "me", "-P", "hush"] + certificates.clientOptions
        )
        let state = #"{"state":"active","epoch":1,"seq":1,"label":"Copying"}"#
        try await broker.publish("indicator/1/h/backup/i", "-r", "-m", state)
        let folder = try TemporaryDirectory()
        let options = [
            "watch", "--mqtt", "mqtts://\(address):\(broker.port)", "--username", "me",
            "--ca-file", certificates.path("ca.pem"), "--certificate-file", certificates.path("client.pem"),
            "--key-file", certificates.path("client.key"),
        ]
        let program = try Command.built("indicator")
        for (password, isRight) in [("hush", true), ("hush-hush", false)] {
            let file = try folder.write(password + "\n", to: "password")
            let sources = [
                (options, ["INDICATOR_MQTT_PASSWORD": password]),
                (options + ["--password-file", file], [:]),
                // The file comes first.
                (options + ["--password-file", file], ["INDICATOR_MQTT_PASSWORD": "other"]),
            ]
            for (options, environment) in sources {
                let watch = try Daemon(program, options, environment: environment)
                if isRight {
                    #expect(await eventually { watch.output == "h/backup/i appeared: hidden, 'Copying'\n" })
                    let arguments = try String(contentsOfFile: "/proc/\(watch.processID)/cmdline", encoding: .utf8)
                    #expect(!arguments.contains("hush"))
                } else {
                    #expect(await eventually { !watch.isRunning })
                    #expect(watch.status == 1 && watch.output.isEmpty)
                    #expect(watch.errors.contains("rejected the connection: Not authorized"))
                }
                #expect(!watch.errors.contains("hush"))
                await watch.end(SIGINT)
            }
        }
        let other = try Daemon(
            program,
            options.map { $0.replacing("ca.pem", with: "other.pem") },
            environment: ["INDICATOR_MQTT_PASSWORD": "hush"]
        )
        #expect(await eventually { !other.isRunning })
        #expect(other.status == 1)
        #expect(other.errors.hasPrefix("indicator: error: TLS failed: "), "\(other.errors)")
    }

    // https://github.com/eclipse/mosquitto/issues/2196
    @Test(
        "States that a broker with default queue limits does not send are reported, and appear when they change",
        .needs(.broker)
    )
    func missingStates() async throws {
        let broker = try await MosquittoBroker()
        // More than mosquitto's queue of 1000 messages and the kernel's buffers take at once.
        let count = 3000
        let client = try MQTTClient(id: "crowd", settings: MQTTSettings(url: try MQTTURL(broker.url)))
        try client.connect()
        let filler = String(repeating: "x", count: 16000)
        func publish(_ number: Int, seq: Int) throws {
            let state = """
                {"state":"active","epoch":1,"seq":\(seq),"label":"\(seq)",\
                "activities":[{"label":"\(filler)","since":""}]}
                """
            try client.publish(topic: "indicator/1/h/a/\(number)", payload: Array(state.utf8), retain: true)
            while client.unacknowledged > 10 || !client.isConnected { try client.waitAndTurn() }
        }
        while !client.isConnected { try client.waitAndTurn() }
        for number in 0..<count { try publish(number, seq: 1) }
        let watch = try watch(broker)
        // The broker sends it after all others, unless its queue is still full.
        #expect(
            try await eventually {
                try publish(count, seq: 1)
                return watch.output.contains("\nh/a/\(count) ")
            }
        )
        let known = Set(watch.output.split(separator: "\n").map { $0.prefix { $0 != " " } }).count - 1
        #expect(known > 1000 && known < count)
        for part in 0..<count / 100 {
            let numbers = part * 100..<part * 100 + 100
            for number in numbers { try publish(number, seq: 2) }
            // Changed, or, if the broker did not send it before, appeared.
            let (start, end) = ("/\(numbers.upperBound - 1) ", ": hidden, '2'\n")
            #expect(
                await eventually { ["appeared", "changed"].contains { watch.output.contains(start + $0 + end) } }
            )
        }
        await watch.end(SIGINT)

        // That states are missing is usually noticed at the beginning: not if the broker pauses at the wrong moment. No
        // command waits for the answer to the subscription that mosquitto drops.
        try await broker.publish("indicator/1/0/a/i/lost", "-r", "-m", #"{"state":"lost","epoch":1}"#)
        let program = try Command.built("indicator")
        #expect(
            try await eventually {
                let forget = try await Command.run(program, ["watch", "--mqtt", broker.url, "--forget"])
                return forget.status == 0 && forget.error.contains("did not send all states")
            }
        )
    }

    @Test(.needs(.broker))
    func `Foreign messages of any length are ignored; the watcher waits for a lost broker`() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let watch = try watch(broker)
        let app = try await app(broker, in: folder)
        #expect(await eventually { watch.output.contains(" appeared: ") })
        try await broker.publish("indicator/1/h", "-m", "x")
        #expect(await eventually { watch.errors.contains("ignored messages that are not from an indicator: 1\n") })
        // 10 MB of zeros, bytes that are not UTF-8, and a state that is a terminal's control sequence.
        try (String(repeating: "\u{0}", count: 10_000_000)).write(
            toFile: folder.appending("zeros"),
            atomically: false,
            encoding: .utf8
        )
        try Data([0xFF, 0xFE, 0x22]).write(to: URL(filePath: folder.appending("bytes")))
        for (topic, file) in [("h/probe/x", "zeros"), ("h/probe/x", "bytes"), ("h", "bytes"), ("a/b/c/d/e", "zeros")] {
            try await broker.publish("indicator/1/\(topic)", "-r", "-f", folder.appending(file))
        }
        let hostile = #"{"state":"active","epoch":1,"seq":1,"label":"\u001b]0;x\u0007y","count":5,"progress":1}"#
        let topic = "indicator/1/%1B[2J/a\u{202E}b/c"
        try await broker.publish(topic, "-m", hostile.replacing(#""count":5"#, with: #""count":-5"#))
        try await broker.publish(topic, "-m", hostile)
        #expect(
            await eventually {
                watch.output.contains("[2J/ab/c appeared: hidden, 5 activities, 100%, ']0;xy'\n")
            }
        )
        for line in [
            "h/probe/x broken: it is not JSON\n", "[2J/ab/c broken: it has a number that is out of range\n",
        ] {
            #expect(watch.output.contains(line), "\(watch.output)")
        }
        #expect(!watch.output.contains("\u{1B}"))
        await broker.end()
        #expect(await eventually { watch.errors.contains("was lost") || watch.errors.contains("cannot be reached") })
        try await broker.start()
        #expect(await eventually { watch.errors.contains("reconnected to the broker\n") })
        app.write("begin\tWorking")
        #expect(await eventually { watch.output.contains("'Working'\n") })
        // The restarted broker has no retained messages, which does not mean that the instances have vanished.
        #expect(!watch.output.contains("vanished"))
        app.write("quit")
        #expect(await eventually { watch.output.hasSuffix(" vanished\n") })
        await watch.end(SIGINT)
    }

    @Test(
        "A publication of 200 MB to the topics of an app fills the memory of neither the app nor a watcher",
        .needs(.broker)
    )
    func hugePublication() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let watch = try watch(broker)
        let app = try await app(broker, in: folder)
        app.write("begin\tbefore")
        #expect(await eventually { watch.output.contains("'before'\n") })
        let before = try [app, watch].map { try peakMemory(of: $0.processID) }
        let topic = try #require(try await broker.retained().keys.first { $0.contains("/probe/") })
        let zeros = folder.appending("zeros")
        #expect(FileManager.default.createFile(atPath: zeros, contents: nil))
        #expect(truncate(zeros, 200_000_000) == 0)
        for topic in [topic, topic + "/lost", topic + "/events"] { try await broker.publish(topic, "-f", zeros) }
        // The broker sends it after the others.
        app.write("progress\t0.5")
        #expect(await eventually { watch.output.contains(" 50%, ") })
        for (daemon, before) in zip([app, watch], before) {
            #expect(try peakMemory(of: daemon.processID) - before < 8_000)
        }
    }

    @Test(
        "Wrong usage is named and ends with status 64",
        arguments: [
            (["--mqtt", "mqtt://me:hush@broker"], "must not contain a user name or password"),
            (["--topic", "x"], "without --mqtt"), (["--password-file", "x"], "without --mqtt"),
            (["--mqtt", "mqtt://x", "--format", "{host}"], "'{host}' is invalid for '--format"),
            (["--mqtt", "nonsense"], "must begin with mqtt://"), (["--mqtt", ""], "--mqtt must not be empty"),
            (["--mqtt", "mqtt://x", "--topic", "#"], "--topic is '#'"),
            (["--mqtt", "mqtt://x", "--topic", ""], "--topic is ''"),
            (["--mqtt", "mqtt://x", "--protocol", "4"], "--protocol is '4'"),
            (["--mqtt", "mqtt://x", "--json", "--forget"], "--forget cannot be combined with --json"),
            (
                ["--mqtt", "mqtt://x", "--forget", "--once"],
                "--forget cannot be combined with --json, --format and --once"
            ),
            (["--mqtt", "mqtt://x", "--json", "--format", "table"], "--json cannot be combined with --format"),
        ]
    )
    func wrongUsageIsNamedAndEndsWithStatus64(options: [String], message: String) async throws {
        let command = ["COLUMNS=200", try Command.built("indicator"), "watch"] + options
        let result = try await Command.run("env", command)
        #expect(result.status == 64 && result.error.contains(message), "\(result.error)")
    }

    @Test(
        "A name that is too long for a topic is found, and JSON has no C1 and no bidirectional controls",
        .needs(.broker)
    )
    func unusualNames() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let host = String(repeating: "x", count: 200)
        let watch = try watch(broker, "--json", "--host", host)
        let app = try await app(broker, host: host, in: folder)
        app.write("begin\tWorking")
        #expect(await eventually { watch.output.contains("Working") })
        let hostile = #"{"state":"active","epoch":1,"seq":1,"label":"\u009b31m\u202e"}"#
        try await broker.publish("indicator/1/\(host.prefix(128))/b/c", "-m", hostile)
        #expect(await eventually { watch.output.contains(#""app":"b""#) })
        #expect(!watch.output.unicodeScalars.contains { $0 == "\u{9B}" || $0 == "\u{202E}" })
        await app.end()
        await watch.end(SIGINT)
    }

    @Test(
        .needs("faketime", package: "faketime"),
        .needs(.broker),
        arguments: ["+1h", "-1h"]
    )
    func `The clock of an app's machine is an hour off: times and order are right`(offset: String) async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let watch = try watch(broker, "--json")
        // The time of day alone: the clocks that only measure are not set.
        let faketime = [try Command.find("faketime", package: "faketime"), "--exclude-monotonic", "-f", offset]
        let wrong = try await app(broker, host: "wrong", in: folder, wrapper: faketime)
        let right = try await app(broker, host: "right", in: folder)
        #expect(await eventually { watch.output.count(where: \.isNewline) == 2 })

        let start = ContinuousClock.now
        for (app, label) in [(wrong, "One"), (right, "Two")] {
            app.write("begin\t\(label)")
            #expect(await eventually { watch.output.contains(#""label":"\#(label)""#) })
        }
        let state = try #require(try Line.last(in: watch) { $0.label == "One" })
        let since = try Date(
            try #require(state.since),
            strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        )
        #expect(abs(since.timeIntervalSinceNow) > 3000, "it has another clock")
        wrong.write("end")
        #expect(await eventually { watch.output.contains(#""event":"finished""#) })
        let finished = try #require(try Line.last(in: watch) { $0.event == "finished" })
        let seconds = try #require(finished.seconds)
        #expect(finished.label == "One" && (0...(ContinuousClock.now - start) / .seconds(1)).contains(seconds))

        // It is hidden a moment later.
        #expect(try await eventually { try Line.last(in: watch) { $0.host == "wrong" }?.state == "inactive" })
        // A late watcher treats neither the state as old nor the app as lost.
        let late = try self.watch(broker, "--host", "wrong")
        #expect(await eventually { late.output.contains(" appeared: hidden\n") })
        #expect(!late.output.contains("lost"))
        // The current state follows after a lost connection, too, and its `lost` message is gone.
        await broker.end()
        try await broker.start()
        #expect(await eventually { watch.errors.contains("reconnected to the broker\n") })
        wrong.write("begin\tThree")
        #expect(try await eventually { try Line.last(in: watch) { $0.host == "wrong" }?.label == "Three" })
        let last = try #require(try Line.last(in: watch) { $0.host == "wrong" })
        let topic = "indicator/1/wrong/probe/\(last.instance)"
        try await broker.publish(topic + "/lost", "-m", #"{"epoch":1,"state":"lost"}"#)
        wrong.write("label\tFour")
        #expect(await eventually { watch.output.contains(#""label":"Four""#) })
        #expect(!watch.output.contains(#""event":"lost""#))
        // The app, which is a child of faketime.
        kill(try #require(Int32(last.instance.prefix { $0 != "-" })), SIGKILL)
        #expect(await eventually { watch.output.contains(#""event":"lost""#) })
        #expect(try Line.last(in: watch) { $0.host == "wrong" }?.event == "lost")
        #expect(await eventually { !wrong.isRunning })
        right.write("quit")
        for watch in [watch, late] { await watch.end(SIGINT) }
    }

    /// What is read of a line of `--json`.
    private struct Line: Decodable {
        var event: String
        var host: String
        var instance: String
        var state: String?
        var label: String?
        var since: String?
        var seconds: Double?

        static func last(in watch: Daemon, where condition: (Self) -> Bool) throws -> Self? {
            // The last line may not be complete.
            try watch.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                .map { try JSONDecoder().decode(Self.self, from: Data($0.utf8)) }
                .last(where: condition)
        }
    }

    @Test(
        "A host whose first address, of version 6, is unreachable is reached at the other one, by app and watcher",
        .needs("python3", package: "python3"),
        .needs(.broker),
        .needs(.rootMounts),
        .needs(.version6)
    )
    func addressOfVersion6() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let nowhere = try Daemon(
            "python3",
            [
                "-c",
                """
                import socket
                s = socket.create_server(('::1', \(broker.port)), family=socket.AF_INET6)
                print('ready', flush=True)
                while True: s.accept()[0].close()
                """,
            ]
        )
        #expect(await eventually { nowhere.output == "ready\n" })
        let hosts = try folder.write("::1 localhost\n\(broker.address) localhost\n", to: "hosts")
        let url = "mqtt://localhost:\(broker.port)"
        let app = try await app(broker, url: url, in: folder, wrapper: Self.withHosts(hosts))
        #expect(try await eventually { try await broker.retained().count == 1 })
        let command = Self.withHosts(hosts) + [try Command.built("indicator"), "watch", "--mqtt", url]
        let watch = try Daemon(command[0], Array(command.dropFirst()))
        #expect(await eventually { watch.output.contains(" appeared: ") || !watch.isRunning })
        #expect(watch.errors == "")
        app.write("quit")
        #expect(await eventually { watch.output.hasSuffix(" vanished\n") || !watch.isRunning })
        await watch.end(SIGINT)
    }

    /// What runs a program with another `/etc/hosts`.
    private static func withHosts(_ path: String) -> [String] {
        ["unshare", "--mount", "sh", "-c", "mount --bind '\(path)' /etc/hosts && exec \"$@\"", "sh"]
    }

    @Test(.needs(.broker))
    func `Without the right to read, the command says so and ends`() async throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
        let plugin = try #require(
            folders.map { "/usr/lib/\($0)/mosquitto_dynamic_security.so" }.first(where: FileManager.default.fileExists),
            "it comes with Debian's mosquitto"
        )
        let broker = try await MosquittoBroker(
            settings: "allow_anonymous true\nplugin \(plugin)\nplugin_opt_config_file FOLDER/rights.json",
            files: ["rights.json": #"{"defaultACLAccess":{"subscribe":false},"clients":[],"groups":[],"roles":[]}"#]
        )
        let watch = try watch(broker)
        #expect(await eventually { !watch.isRunning })
        #expect(watch.status == 1)
        let error = "indicator: error: the broker at \(broker.url) rejected a subscription: Not authorized"
        #expect(watch.errors.hasPrefix(error))
        #expect(watch.errors.count(where: \.isNewline) == 1)
    }

    @Test("--once prints a table, JSON or a panel's line of what there is, also with patterns", .needs(.broker))
    func once() async throws {
        let broker = try await MosquittoBroker()
        let state = #"{"state":"active","visible":true,"epoch":1,"seq":1,"count":2,"progress":0.4,"label":"Copying"}"#
        for topic in ["web-1/backup/i", "web-2/backup/j", #"db/a"b\/k"#] {
            try await broker.publish("indicator/1/\(topic)", "-r", "-m", state)
        }
        try await broker.publish("indicator/1/web-2/backup/j/lost", "-r", "-m", #"{"state":"lost","epoch":1}"#)
        func once(_ options: String...) async throws -> String {
            let options = ["watch", "--mqtt", broker.url, "--once"] + options
            let result = try await Command.run(try Command.built("indicator"), options)
            #expect(result.status == 0 && result.error == "")
            return result.output
        }
        #expect(
            try await once("--host", "web-*") == """
                HOST   APP     INSTANCE  STATE  COUNT  DONE  LABEL
                web-1  backup  i         shown  2      40%   Copying
                web-2  backup  j         lost   2      40%   Copying
                1 shown, 0 hidden, 1 lost; 2 in progress, 0 failed

                """
        )
        #expect(
            try await once("--json", "--host", "web-[2-9]")
                == #"{"app":"backup","count":2,"event":"lost","host":"web-2","instance":"j","label":"Copying","#
                + #""name":"web-2/backup/j","progress":0.4,"state":"active","visible":true}"# + "\n"
        )
        #expect(try await once("--format", "text", "--app", "backup") == "web-1/backup: Copying 40% (2)\n")
    }

    @Test(.needs(.broker), arguments: ["text", "waybar"])
    func `A panel shows the work of all machines, what is lost, and ends with its reader`(format: String) async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let panel = try watch(broker, "--format", format)
        #expect(await eventually { panel.output.hasSuffix("\n") })
        let app = try await app(broker, host: "web-1", in: folder)
        app.write("begin\tCopying")
        #expect(await eventually { panel.output.contains("web-1/probe: Copying") })
        await app.end()
        #expect(await eventually { panel.output.contains("web-1/probe: lost") })
        let command = "'\(try Command.built("indicator"))' watch --mqtt '\(broker.url)' --format \(format) | head -n 1"
        let shell = try Daemon("sh", ["-c", command])
        #expect(await eventually { !shell.isRunning })
        await panel.end(SIGINT)
    }

    @Test func `An unreachable broker is an error`() async throws {
        let broker = try await MosquittoBroker(isRunning: false)
        let result = try await Command.run(try Command.built("indicator"), ["watch", "--mqtt", broker.url])
        #expect(result.status == 1)
        #expect(result.error.hasPrefix("indicator: error: the broker at \(broker.url) cannot be reached"))
    }
}

extension MQTTClient {
    /// Waits for the broker, for up to a second.
    fileprivate func waitAndTurn() throws {
        var descriptors = interest().descriptors
        poll(&descriptors, 1, 1000)
        try turn(descriptors)
    }
}
#endif
