#if MQTT
import Foundation
import TestSupport
import Testing

/// What `watch --mqtt` prints and serves of all indicators, on a private broker.
@Suite(.needs(.broker)) struct MQTTBoardTests {
    private func broker() async throws -> MosquittoBroker {
        let broker = try await MosquittoBroker()
        let state = #"{"state":"active","visible":true,"epoch":1,"seq":1,"count":2,"progress":0.4,"label":"Copying"}"#
        try await broker.publish("indicator/1/web-1/backup/i", "-r", "-m", state)
        try await broker.publish("indicator/1/web-2/backup/j", "-r", "-m", state)
        try await broker.publish("indicator/1/web-2/backup/j/lost", "-r", "-m", #"{"state":"lost","epoch":1}"#)
        try await broker.publish("indicator/1/db/a\"b\\/k", "-r", "-m", state.replacing("Copying", with: "Other"))
        return broker
    }

    private func watch(_ options: [String]) async throws -> Command.Result {
        try await Command.run(try Command.built("indicator"), ["watch"] + options)
    }

    @Test("--once prints a table, or JSON, of what there is, also of several brokers and with patterns, and ends")
    func once() async throws {
        let broker = try await broker()
        let other = try await MosquittoBroker()
        let state = #"{"state":"inactive","visible":false,"epoch":1,"seq":1,"count":0}"#
        try await other.publish("indicator/1/web-3/backup/l", "-r", "-m", state)
        let both = try await watch(["--mqtt", broker.url, "--mqtt", other.url, "--once", "--host", "web-*"])
        #expect(
            both.output == """
                HOST   APP     INSTANCE  STATE     COUNT  DONE  LABEL
                web-1  backup  i         active    2      40%   Copying
                web-2  backup  j         lost      2      40%   Copying
                web-3  backup  l         inactive  0            

                """
        )
        #expect(both.status == 0 && both.error == "")
        let json = try await watch(["--mqtt", broker.url, "--once", "--json", "--host", "web-[2-9]"])
        #expect(json.output.contains(#""event":"lost","host":"web-2""#) && json.output.count(where: \.isNewline) == 1)
        let summary = try await watch(["--mqtt", broker.url, "--once", "--summary", "--app", "backup"])
        #expect(
            summary.output == """
                TOTAL   SHOWN  HIDDEN  LOST  ACTIVITIES  FAILED
                        1      0       1     2           0
                APP     SHOWN  HIDDEN  LOST  ACTIVITIES  FAILED
                backup  1      0       1     2           0
                HOST    SHOWN  HIDDEN  LOST  ACTIVITIES  FAILED
                web-1   1      0       0     2           0
                web-2   0      0       1     0           0

                """
        )
    }

    @Test("The metrics are valid to promtool, and have states and finished activities", .needs(.prometheus))
    func metrics() async throws {
        let broker = try await broker()
        let address = try LoopbackAddress()
        let folder = try TemporaryDirectory()
        let program = try Command.built("indicator")
        let place = "\(address.host):\(address.port)"
        let watch = try Daemon(program, ["watch", "--mqtt", broker.url, "--prometheus", place])
        let url = "http://\(place)/metrics"
        func metrics() async throws -> String { try await Command.run("curl", ["-s", url]).output }
        #expect(try await eventually { try await metrics().contains(#"host="web-2",app="backup",state="lost"} 1"#) })
        let finished = #"{"epoch":1,"finished":[{"label":"x","outcome":"failed","seconds":1}]}"#
        try await broker.publish("indicator/1/web-1/backup/i/events", "-m", finished)
        #expect(try await eventually { try await metrics().contains(#"app="backup",outcome="failed"} 1"#) })
        let text = try await metrics()
        #expect(text.contains(#"indicator_instances{host="db",app="a\"b\\",state="active"} 1"#))
        #expect(text.contains(#"indicator_activities{host="web-1",app="backup"} 2"#))
        let path = try folder.write(text, to: "metrics")
        let promtool = try Command.find("promtool", package: "prometheus")
        let check = try await Command.run("sh", ["-c", "exec '\(promtool)' check metrics < '\(path)'"])
        #expect(check.status == 0 && check.output + check.error == "", "\(check)")
        #expect(watch.output == "")
        await watch.end(SIGINT)
    }

    @Test(
        "Prometheus scrapes the metrics, and the rule in Examples fires for a lost process, and only for that",
        .needs(.prometheus)
    )
    func alert() async throws {
        let broker = try await broker()
        let (metrics, server) = (try LoopbackAddress(), try LoopbackAddress())
        let folder = try TemporaryDirectory()
        let examples = URL(filePath: #filePath).appending(path: "../../../../Examples/prometheus").standardized
        for name in ["indicator.rules.yml", "prometheus.yml"] {
            let text = try String(contentsOf: examples.appending(path: name), encoding: .utf8)
            let place = "\(metrics.host):\(metrics.port)"
            try folder.write(text.replacing("127.0.0.1:9469", with: place).replacing("15s", with: "1s"), to: name)
        }
        let watch = try Daemon(
            try Command.built("indicator"),
            ["watch", "--mqtt", broker.url, "--prometheus", "\(metrics.host):\(metrics.port)"]
        )
        let prometheus = try Daemon(
            "prometheus",
            [
                "--config.file=\(folder.appending("prometheus.yml"))", "--storage.tsdb.path=\(folder.path)/data",
                "--web.listen-address=\(server.host):\(server.port)",
            ],
            package: "prometheus"
        )
        func query(_ path: String) async throws -> String {
            try await Command.run("curl", ["-s", "http://\(server.host):\(server.port)/api/v1/\(path)"]).output
        }
        #expect(try await eventually { try await query("alerts").contains(#""state":"firing""#) })
        let alerts = try await query("alerts")
        #expect(alerts.contains(#""alertname":"IndicatorLost","app":"backup","host":"web-2""#))
        #expect(alerts.components(separatedBy: "alertname").count == 2)
        await prometheus.end(SIGTERM)
        await watch.end(SIGINT)
    }

    @Test(arguments: [
        (["--silent-for", "9"], "--silent-for"), (["--prometheus", "nonsense"], "--prometheus is 'nonsense'"),
        (["--summary", "--json"], "only one of"), (["--forget", "--once"], "--once cannot be combined"),
        (["--topic", "a", "--topic", "b", "--mqtt", "mqtt://y", "--mqtt", "mqtt://z"], "--topic"),
        (["--protocol", "4"], "--protocol is '4'"),
    ])
    func wrongUsageIsNamedAndEndsWithStatus64(options: [String], message: String) async throws {
        let result = try await watch(["--mqtt", "mqtt://x"] + options)
        #expect(result.status == 64 && result.error.contains(message), "\(result.error)")
    }
}
#endif
