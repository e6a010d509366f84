#if MQTT
import Foundation
import TestSupport
import Testing

/// `indicator-demo watch --mqtt`, on a private broker.
@Suite struct MQTTWatchTests {
    private func watch(_ broker: MosquittoBroker, _ options: String...) throws -> Daemon {
        try Daemon(try Command.built("indicator-demo"), ["watch", "--mqtt", broker.url] + options)
    }

    private func app(_ broker: MosquittoBroker, host: String = "h", in folder: TemporaryDirectory) async throws
        -> Daemon
    {
        let config = "backends: [mqtt]\nstartDelay: 0\nmqtt: {url: '\(broker.url)', host: '\(host)', interval: 0}\n"
        let path = try folder.write(config, to: "\(host).yaml")
        let app = try Daemon(try Command.built("desktop-probe"), ["config=\(path)"])
        #expect(await eventually { app.output.hasPrefix("ready\n") })
        return app
    }

    @Test(
        "Instances that exist, appear, change, are lost and vanish are printed; a late watcher sees all; --forget works"
    )
    func lifecycle() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let watch = try watch(broker)
        let first = try await app(broker, in: folder)
        #expect(
            await eventually {
                watch.output.contains("h/probe/") && watch.output.contains(" appeared: hidden, inactive")
            }
        )
        first.write("begin\tCopying")
        #expect(await eventually { watch.output.contains(" changed: shown, active, 1 activity, 'Copying'\n") })
        let second = try await app(broker, host: "other", in: folder)
        #expect(await eventually { watch.output.contains("other/probe/") })

        let late = try self.watch(broker, "--json")
        let filtered = try self.watch(broker, "--host", "other", "--format", "{event} {host} {state} {label}")
        #expect(
            await eventually {
                late.output.count(where: \.isNewline) == 2 && late.output.contains(#""label":"Copying""#)
            }
        )
        #expect(await eventually { filtered.output == "appeared other inactive \n" })

        await first.end()
        #expect(await eventually { watch.output.contains(" lost: shown, active, 1 activity, 'Copying'\n") })
        second.write("quit")
        #expect(await eventually { watch.output.contains(" vanished\n") })
        #expect(await eventually { filtered.output.contains("vanished other vanished \n") })

        let ghosts = try self.watch(broker)
        #expect(await eventually { ghosts.output.hasSuffix(" lost\n") })
        let forget = try await Command.run(
            try Command.built("indicator-demo"),
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

    @Test("Foreign messages of any length do no harm; the watcher waits for a lost broker")
    func foreignMessages() async throws {
        let broker = try await MosquittoBroker()
        let folder = try TemporaryDirectory()
        let watch = try watch(broker)
        let app = try await app(broker, in: folder)
        #expect(await eventually { watch.output.contains(" appeared: ") })
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
        let hostile = #"{"state":"active","epoch":1,"seq":1,"label":"\u001b]0;x\u0007y","count":-5,"progress":7}"#
        try await broker.publish("indicator/1/%1B[2J/a\u{202E}b/c", "-m", hostile)
        #expect(
            await eventually { watch.output.contains("[2J/ab/c appeared: hidden, active, -5 activities, ']0;xy'\n") }
        )
        #expect(!watch.output.contains("\u{1B}"))
        await broker.end()
        #expect(await eventually { watch.errors.contains("was lost") || watch.errors.contains("cannot be reached") })
        try await broker.start()
        #expect(await eventually { watch.errors.contains("the broker is back\n") })
        app.write("begin\tWorking")
        #expect(await eventually { watch.output.contains("'Working'\n") })
        // The restarted broker has no retained messages, which does not mean that the instances have vanished.
        #expect(!watch.output.contains("vanished"))
        #expect(watch.errors.contains("messages that no indicator has sent, and that are ignored: "))
        app.write("quit")
        #expect(await eventually { watch.output.hasSuffix(" vanished\n") })
        await watch.end(SIGINT)
    }

    @Test(arguments: [
        ["--mqtt", "mqtt://me:hush@broker"], ["--topic", "x"], ["--mqtt", "mqtt://x", "--format", "{nonsense}"],
        ["--mqtt", "nonsense"], ["--mqtt", "mqtt://x", "--topic", "#"], ["--mqtt", "mqtt://x", "--topic", ""],
        ["--password-file", "x"], ["--mqtt", "mqtt://x", "--json", "--forget"],
        ["--mqtt", "mqtt://x", "--json", "--format", "{host}"],
    ])
    func wrongUsageEndsWithStatus64(options: [String]) async throws {
        let result = try await Command.run(try Command.built("indicator-demo"), ["watch"] + options)
        #expect(result.status == 64)
    }

    @Test("A name that is too long for a topic is found, and JSON has no C1 and no bidirectional controls")
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

    @Test func anUnreachableBrokerIsAnError() async throws {
        let broker = try await MosquittoBroker(isRunning: false)
        let result = try await Command.run(try Command.built("indicator-demo"), ["watch", "--mqtt", broker.url])
        #expect(result.status == 1)
        #expect(result.error.hasPrefix("indicator-demo: error: the broker at \(broker.url) cannot be reached"))
    }
}
#endif
