#if MQTT
import TestSupport

/// `Examples/prometheus`: an alert for lost processes, from what `watch --once --json` prints.
@Suite(.needs(["promtool": "prometheus", "jq": "jq"])) struct PrometheusExampleTests {
    private let examples = URL(filePath: #filePath).appending(path: "../../../../Examples/prometheus").standardized.path

    @Test(.needs(.broker))
    func `The metrics are valid to promtool, and have the processes that are alive and lost`() async throws {
        let broker = try await MosquittoBroker()
        let state = #"{"state":"active","visible":true,"epoch":1,"seq":1,"count":2,"label":"Copying"}"#
        for topic in ["web-1/backup/i", "web-1/backup/j", "web-2/backup/k", #"db/a"b\/l"#] {
            try await broker.publish("indicator/1/\(topic)", "-r", "-m", state)
        }
        try await broker.publish("indicator/1/web-2/backup/k/lost", "-r", "-m", #"{"state":"lost","epoch":1}"#)
        let folder = try TemporaryDirectory()
        let file = folder.appending("indicator.prom")
        let command = ["INDICATOR=\(try Command.built("indicator"))", "\(examples)/indicator-metrics", file]
        let made = try await Command.run("env", command + ["--mqtt", broker.url])
        #expect(made.status == 0 && made.output + made.error == "", "\(made)")
        #expect(
            try folder.read("indicator.prom") == #"""
                # HELP indicator_instances Processes with an indicator, by state.
                # TYPE indicator_instances gauge
                indicator_instances{host="db",app="a\"b\\",state="alive"} 1
                indicator_instances{host="web-1",app="backup",state="alive"} 2
                indicator_instances{host="web-2",app="backup",state="lost"} 1

                """#
        )
        let check = try await Command.run("sh", ["-c", "exec promtool check metrics < '\(file)'"])
        #expect(check.status == 0 && check.output + check.error == "", "\(check)")
        // What there was remains when the broker cannot be reached.
        let failed = try await Command.run("env", command + ["--mqtt", "mqtt://127.0.0.1:9"])
        #expect(failed.status != 0 && FileManager.default.fileExists(atPath: file))
    }

    @Test func `The rule fires for a lost process, and only for that`() async throws {
        let folder = try TemporaryDirectory()
        let test = try folder.write(
            """
            rule_files: ['\(examples)/indicator.rules.yml']
            tests:
              - interval: 1m
                input_series:
                  - {series: 'indicator_instances{host="web-1",app="backup",state="alive"}', values: '2 2 2'}
                  - {series: 'indicator_instances{host="web-2",app="backup",state="lost"}', values: '0 1 1'}
                alert_rule_test:
                  - {eval_time: 0m, alertname: IndicatorLost}
                  - eval_time: 2m
                    alertname: IndicatorLost
                    exp_alerts:
                      - exp_labels: {severity: warning, host: web-2, app: backup}
                        exp_annotations: {summary: 1 of backup on web-2 lost}
            """,
            to: "test.yml"
        )
        let result = try await Command.run("promtool", ["test", "rules", test])
        #expect(result.status == 0, "\(result)")
    }
}
#endif
