#if MQTT
import IndicatorBackends
import TestSupport

/// `indicator watch --mqtt`, on a private broker.
@Suite(.needs(.brokers + .certificates)) struct BrokerOptionsTests {
    private func watch(_ broker: MosquittoBroker, _ options: String...) throws -> Daemon { try watch(broker, options) }

    private func watch(_ broker: MosquittoBroker, _ options: [String]) throws -> Daemon {
        try Daemon([Command.built("indicator"), "watch", "--mqtt", broker.url] + options)
    }

    private func run(_ broker: MosquittoBroker, _ options: String...) async throws -> Command.Result {
        try await Command.run(Command.built("indicator"), ["watch", "--mqtt", broker.url] + options)
    }

    private static let state = #"{"state":"active","epoch":1,"seq":1,"label":"Copying"}"#
    private static let lost = #"{"state":"lost","epoch":1}"#

    @Test("Instances that appear, change, are lost and vanish are printed, also to a late watcher; --forget works")
    func lifecycle() async throws {
        let broker = try await MosquittoBroker()
        let watch = try watch(broker)
        let first = try await broker.app()
        #expect(await eventually { watch.output.contains(/h\/probe\/\S+ appeared: hidden\n/) })
        first.write("begin\tCopying")
        #expect(await watch.prints(" changed: shown, 1 activity, 'Copying'\n"))
        let second = try await broker.app(host: "other")
        #expect(await watch.prints("other/probe/"))

        let late = try self.watch(broker, "--json")
        let filtered = try self.watch(broker, "--host", "other")
        let panel = try self.watch(broker, "--format", "text")
        #expect(await panel.prints("h/probe: Copying\n"))
        #expect(await late.prints(#""label":"Copying""#))
        #expect(await eventually { late.output.count(where: \.isNewline) == 2 })
        #expect(await eventually { filtered.output.contains(/^other\/probe\/\S+ appeared: hidden\n/) })

        await first.end()
        #expect(await watch.prints(" lost: shown, 1 activity, 'Copying'\n"))
        #expect(await panel.prints("h/probe: lost\n"))
        second.write("quit")
        #expect(await watch.prints(" vanished\n"))
        #expect(await eventually { filtered.output.contains(/\nother\/probe\/\S+ vanished\n/) })

        let ghosts = try self.watch(broker)
        #expect(await eventually { ghosts.output.hasSuffix(" lost: shown, 1 activity, 'Copying'\n") })
        let forget = try await run(broker, "--forget")
        #expect(forget.status == 0 && forget.output.hasSuffix(" forgotten\n"), "\(forget)")
        #expect(await eventually { ghosts.output.hasSuffix(" vanished\n") })
        #expect(try await broker.retained().isEmpty)
        for daemon in [watch, late, filtered, panel, ghosts] { #expect(daemon.errors == "") }
    }

    @Test func `--app, --host and --topic select indicators, also together, with several values`() async throws {
        let broker = try await MosquittoBroker()
        // Too long for a topic, which has its first 128 characters.
        let long = String(repeating: "x", count: 200)
        let topics = [
            "1/h1/backup/i", "1/h1/build/i", "1/h2/backup/i", "1/h2/test/i", "other/h1/backup/i",
            "1/\(long.prefix(128))/b/i",
        ]
        for topic in topics {
            try await broker.publish("indicator/\(topic)", "-r", "-m", Self.state.replacing("Copying", with: topic))
        }
        let selections: [([String], [Int])] = [
            ([], [0, 1, 2, 3, 5]), (["--app", "backup"], [0, 2]), (["--app", "build", "--app", "test"], [1, 3]),
            (["--app", "backup", "--host", "h2"], [2]), (["--topic", "indicator/other"], [4]), (["--host", long], [5]),
            (["--topic", "indicator/other", "--app", "backup", "--app", "build"], [4]),
        ]
        for (options, selected) in selections {
            let watch = try watch(broker, options)
            let expected = selected.map { topics[$0] }
            func lines() -> Set<String> { Set(watch.output.matches(of: /'(.+)'/).map { String($0.1) }) }
            #expect(await eventually { lines().isSuperset(of: expected) })
            // A later message, so that all earlier ones have arrived.
            try await broker.publish("indicator/\(expected[0])nd", "-m", Self.state.replacing("Copying", with: "end"))
            #expect(await eventually { lines().contains("end") })
            #expect(lines() == Set(expected + ["end"]), "\(options)")
        }
    }

    @Test("User name, password and TLS: the password is in no argument, and a wrong one is an error without it")
    func credentials() async throws {
        let address = try LoopbackAddress().host
        let certificates = try await Certificates(address: address)
        let broker = try await MosquittoBroker(
            settings: "password_file FOLDER/passwords\n\(certificates.brokerSettings)",
            files: ["passwords": try await MosquittoBroker.passwordFile(user: "me", password: "hush")],
            address: address,
            clientOptions: ["-u", "me", "-P", "hush"] + certificates.clientOptions
        )
        try await broker.publish("indicator/1/h/backup/i", "-r", "-m", Self.state)
        let options = [
            "watch", "--mqtt", "mqtts://\(address):\(broker.port)", "--username", "me",
            "--ca-file", certificates.path("ca.pem"), "--certificate-file", certificates.path("client.pem"),
            "--key-file", certificates.path("client.key"),
        ]
        let program = try Command.built("indicator")
        let withFile = options + ["--password-file", try broker.folder.write("hush\n", to: "password")]
        // The file comes first.
        for (options, password) in [(options, "hush"), (withFile, ""), (withFile, "other")] {
            let watch = try Daemon(program, options, environment: ["INDICATOR_MQTT_PASSWORD": password])
            #expect(await eventually { watch.output == "h/backup/i appeared: hidden, 'Copying'\n" }, "\(watch.errors)")
            #expect(try !String(contentsOfFile: "/proc/\(watch.processID)/cmdline", encoding: .utf8).contains("hush"))
            await watch.end(SIGINT)
        }
        let wrong = try Daemon(program, options, environment: ["INDICATOR_MQTT_PASSWORD": "hush-hush"])
        #expect(await wrong.ends() && wrong.status == 1 && wrong.output.isEmpty)
        #expect(wrong.errors.contains("rejected the connection: Not authorized") && !wrong.errors.contains("hush"))
    }

    // https://github.com/eclipse/mosquitto/issues/2196
    @Test("States that a broker with default queue limits does not send are reported, and appear when they change")
    func missingStates() async throws {
        let broker = try await MosquittoBroker()
        // More than mosquitto's queue of 1000 messages and the kernel's buffers take at once.
        let count = 3000
        var settings = MQTTSettings(url: try MQTTURL(broker.url))
        // Nothing is sent while the test waits for the program.
        settings.keepAlive = .seconds(3600)
        let connection = try await MQTTConnection.open(id: "crowd", settings: settings, for: nil)
        let filler = String(repeating: "x", count: 16000)
        func publish(_ number: Int, seq: Int) async throws {
            let state = """
                {"state":"active","epoch":1,"seq":\(seq),"label":"\(seq)",\
                "activities":[{"label":"\(filler)","since":""}]}
                """
            try connection.publish(topic: "indicator/1/h/a/\(number)", payload: Array(state.utf8), retain: true)
            while connection.client.unacknowledged > 10 { try await connection.turn() }
        }
        for number in 0..<count { try await publish(number, seq: 1) }
        let watch = try watch(broker)
        // The broker sends it after all others, unless its queue is still full.
        try await expectEventually {
            try await publish(count, seq: 1)
            return watch.output.contains("\nh/a/\(count) ")
        }
        let known = Set(watch.output.split(separator: "\n").map { $0.prefix { $0 != " " } }).count - 1
        #expect(known > 1000 && known < count)
        for part in 0..<count / 100 {
            let numbers = part * 100..<part * 100 + 100
            for number in numbers { try await publish(number, seq: 2) }
            // Changed, or, if the broker did not send it before, appeared.
            let (start, end) = ("/\(numbers.upperBound - 1) ", ": hidden, '2'\n")
            #expect(await eventually { ["appeared", "changed"].contains { watch.output.contains(start + $0 + end) } })
        }
        await watch.end(SIGINT)

        // That states are missing is usually noticed at the beginning: not if the broker pauses at the wrong moment. No
        // command waits for the answer to the subscription that mosquitto drops.
        try await broker.publish("indicator/1/0/a/i/lost", "-r", "-m", Self.lost)
        try await expectEventually {
            let forget = try await run(broker, "--forget")
            return forget.status == 0 && forget.error.contains("did not send all states")
        }
    }

    @Test func `Foreign messages of any length are ignored; the watcher waits for a lost broker`() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let watch = try watch(broker)
        let app = try await broker.app()
        #expect(await watch.prints(" appeared: "))
        try await broker.publish("indicator/1/h", "-m", "x")
        #expect(await watch.complains("ignored messages that are not from an indicator: 1\n"))
        // 10 MB of zeros, bytes that are not UTF-8, and a state that is a terminal's control sequence.
        try folder.write(String(repeating: "\u{0}", count: 10_000_000), to: "zeros")
        try Data([0xFF, 0xFE, 0x22]).write(to: URL(filePath: folder.appending("bytes")))
        for (topic, file) in [("h/probe/x", "zeros"), ("h/probe/x", "bytes"), ("h", "bytes"), ("a/b/c/d/e", "zeros")] {
            try await broker.publish("indicator/1/\(topic)", "-r", "-f", folder.appending(file))
        }
        let label = #""label":"\u001b]0;x\u0007y\u009b\u202e""#
        let hostile = #"{"state":"active","epoch":1,"seq":1,\#(label),"count":5,"progress":1}"#
        let topic = "indicator/1/%1B[2J/a\u{202E}b/c"
        try await broker.publish(topic, "-m", hostile.replacing(#""count":5"#, with: #""count":-5"#))
        try await broker.publish(topic, "-m", hostile)
        for line in [
            "[2J/ab/c appeared: hidden, 5 activities, 100%, ']0;xy'\n", "h/probe/x broken: it is not JSON\n",
            "[2J/ab/c broken: it has a number that is out of range\n",
        ] {
            #expect(await watch.prints(line), "\(watch.output)")
        }
        #expect(!watch.output.contains("\u{1B}"))
        await broker.end()
        #expect(await eventually { watch.errors.contains("was lost") || watch.errors.contains("cannot be reached") })
        try await broker.start()
        #expect(await watch.complains("reconnected to the broker\n"))
        app.write("begin\tWorking")
        #expect(await watch.prints("'Working'\n"))
        // The restarted broker has no retained messages, which does not mean that the instances have vanished.
        #expect(!watch.output.contains("vanished"))
        app.write("quit")
        #expect(await eventually { watch.output.hasSuffix(" vanished\n") })
    }

    @Test("A publication of 200 MB to the topics of an app fills the memory of neither the app nor a watcher")
    func hugePublication() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let watch = try watch(broker)
        let app = try await broker.app()
        app.write("begin\tbefore")
        #expect(await watch.prints("'before'\n"))
        let before = try [app, watch].map { try peakMemory(of: $0.processID) }
        let topic = try #require(try await broker.retained().keys.first { $0.contains("/probe/") })
        let zeros = try folder.write("", to: "zeros")
        #expect(truncate(zeros, 200_000_000) == 0)
        for topic in [topic, topic + "/lost", topic + "/events"] { try await broker.publish(topic, "-f", zeros) }
        // The broker sends it after the others.
        app.write("progress\t0.5")
        #expect(await watch.prints(" 50%, "))
        for (daemon, before) in zip([app, watch], before) {
            #expect(try peakMemory(of: daemon.processID) - before < 8_000)
        }
    }

    @Test(arguments: [
        (["--mqtt", "mqtt://127.0.0.1:9"], "indicator: error: the broker at mqtt://127.0.0.1:9 cannot be reached"),
        (["--mqtt", "mqtt://me:hush@broker"], "must not contain a user name or password"),
        (["--forget"], "without --mqtt"), (["--topic", "x"], "without --mqtt"),
        (["--password-file", "x"], "without --mqtt"),
        (["--mqtt", "mqtt://x", "--format", "{host}"], "'{host}' is invalid for '--format"),
        (["--format", "wayba"], "'wayba' is invalid for '--format <format>'"),
        (["--mqtt", "nonsense"], "must begin with mqtt://"), (["--mqtt", ""], "--mqtt must not be empty"),
        (["--mqtt", "mqtt://x", "--topic", "#"], "--topic is '#'"),
        (["--mqtt", "mqtt://x", "--topic", ""], "--topic is ''"),
        (["--mqtt", "mqtt://x", "--protocol", "4"], "--protocol is '4'"),
        (["--mqtt", "mqtt://x", "--json", "--forget"], "--forget cannot be combined with --json"),
        (["--mqtt", "mqtt://x", "--forget", "--once"], "--forget cannot be combined with --json, --format and --once"),
        (["--mqtt", "mqtt://x", "--json", "--format", "table"], "--json cannot be combined with --format"),
    ])
    func `Wrong usage ends with status 64, another error with 1`(options: [String], message: String) async throws {
        let command = ["COLUMNS=200", try Command.built("indicator"), "watch"] + options
        let result = try await Command.run("env", command)
        #expect(result.status == (message.hasPrefix("indicator: error: ") ? 1 : 64), "\(result.error)")
        #expect(result.error.contains(message), "\(result.error)")
    }

    @Test(.needs("faketime", package: "faketime"), arguments: ["+1h", "-1h"])
    func `The clock of an app's machine is an hour off: times and order are right`(offset: String) async throws {
        let broker = try await MosquittoBroker()
        let watch = try watch(broker, "--json")
        // The time of day alone: the clocks that only measure are not set.
        let faketime = [try Command.find("faketime", package: "faketime"), "--exclude-monotonic", "-f", offset]
        let wrong = try await broker.app(host: "wrong", wrapper: faketime)
        let right = try await broker.app(host: "right")
        #expect(await eventually { watch.output.count(where: \.isNewline) == 2 })

        let start = ContinuousClock.now
        for (app, label) in [(wrong, "One"), (right, "Two")] {
            app.write("begin\t\(label)")
            #expect(await watch.prints(#""label":"\#(label)""#))
        }
        let since = try #require(watch.output.firstMatch(of: /"host":"wrong".*"label":"One".*"since":"(.+?)"/)?.1)
        let format = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        #expect(try abs(Date(String(since), strategy: format).timeIntervalSinceNow) > 3000, "it has another clock")
        wrong.write("end")
        let finished = /"event":"finished".*"label":"One".*"seconds":([0-9.]+)}\n/
        #expect(await eventually { watch.output.contains(finished) })
        let seconds = watch.output.firstMatch(of: finished).flatMap { Double($0.1) }
        #expect((0...(ContinuousClock.now - start) / .seconds(1)).contains(try #require(seconds)))

        /// The last line about the app.
        func last() -> Substring { watch.output.split(separator: "\n").last { $0.contains(#""wrong""#) } ?? "" }
        // It is hidden a moment later.
        #expect(await eventually { last().contains(#""state":"inactive""#) })
        // A late watcher treats neither the state as old nor the app as lost.
        let late = try self.watch(broker, "--host", "wrong")
        #expect(await late.prints(" appeared: hidden\n"))
        #expect(!late.output.contains("lost"))
        // The current state follows after a lost connection, too, and its `lost` message is gone.
        await broker.end()
        try await broker.start()
        #expect(await watch.complains("reconnected to the broker\n"))
        wrong.write("begin\tThree")
        #expect(await eventually { last().contains(#""label":"Three""#) })
        let instance = try #require(last().firstMatch(of: /"instance":"((\d+)-\w+)"/))
        try await broker.publish("indicator/1/wrong/probe/\(instance.1)/lost", "-m", Self.lost)
        wrong.write("label\tFour")
        #expect(await watch.prints(#""label":"Four""#))
        #expect(!watch.output.contains(#""event":"lost""#))
        // The app, which is a child of faketime.
        kill(try #require(Int32(instance.2)), SIGKILL)
        #expect(await eventually { last().contains(#""event":"lost""#) })
        #expect(await wrong.ends())
        right.write("quit")
    }

    @Test(
        "A host whose first address, of version 6, is unreachable is reached at the other one, by app and watcher",
        .needs(.rootMounts),
        .needs(.version6)
    )
    func addressOfVersion6() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let nowhere = try await Daemon.python(
            """
            s = socket.create_server(('::1', \(broker.port)), family=socket.AF_INET6)
            print('listens', flush=True)
            while True: s.accept()[0].close()
            """,
            at: try LoopbackAddress()
        )
        #expect(await nowhere.prints("listens"))
        let hosts = try folder.write("::1 localhost\n\(broker.address) localhost\n", to: "hosts")
        let url = "mqtt://localhost:\(broker.port)"
        // What runs a program with another `/etc/hosts`.
        let wrapper = ["unshare", "--mount", "sh", "-c", "mount --bind '\(hosts)' /etc/hosts && exec \"$@\"", "sh"]
        let app = try await broker.app(url: url, wrapper: wrapper)
        #expect(try await broker.retains(1))
        let watch = try Daemon(wrapper + [Command.built("indicator"), "watch", "--mqtt", url])
        #expect(await watch.prints(" appeared: "))
        #expect(watch.errors == "")
        app.write("quit")
        #expect(await eventually { watch.output.hasSuffix(" vanished\n") })
    }

    @Test func `Without the right to read, the command says so and ends`() async throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
        // It comes with Debian's mosquitto.
        let plugins = folders.map { "/usr/lib/\($0)/mosquitto_dynamic_security.so" }
        let plugin = try #require(plugins.first(where: FileManager.default.fileExists))
        let broker = try await MosquittoBroker(
            settings: "plugin \(plugin)\nplugin_opt_config_file FOLDER/rights.json",
            files: ["rights.json": #"{"defaultACLAccess":{"subscribe":false},"clients":[],"groups":[],"roles":[]}"#]
        )
        let watch = try watch(broker)
        #expect(await watch.ends() && watch.status == 1)
        let error = "indicator: error: the broker at \(broker.url) rejected a subscription: Not authorized"
        #expect(watch.errors.hasPrefix(error))
        #expect(watch.errors.count(where: \.isNewline) == 1)
    }

    @Test("--once prints a table or a panel's line of what there is, also with patterns")
    func once() async throws {
        let broker = try await MosquittoBroker()
        let state = #"{"state":"active","visible":true,"epoch":1,"seq":1,"count":2,"progress":0.4,"label":"Copying"}"#
        for topic in ["web-1/backup/i", "web-2/backup/j", #"db/a"b\/k"#] {
            try await broker.publish("indicator/1/\(topic)", "-r", "-m", state)
        }
        try await broker.publish("indicator/1/web-2/backup/j/lost", "-r", "-m", Self.lost)
        let table = """
            HOST   APP     INSTANCE  STATE  COUNT  DONE  LABEL
            web-1  backup  i         shown  2      40%   Copying
            web-2  backup  j         lost   2      40%   Copying
            1 shown, 0 hidden, 1 lost; 2 in progress, 0 failed

            """
        for (result, output) in [
            (try await run(broker, "--once", "--host", "web-*"), table),
            (
                try await run(broker, "--once", "--format", "text", "--host", "web-[0-1]", "--app", "backup"),
                "web-1/backup: Copying 40% (2)\n"
            ),
        ] {
            #expect(result.status == 0 && result.output == output && result.error == "")
        }
    }

}
#endif
