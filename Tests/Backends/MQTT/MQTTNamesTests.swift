#if MQTT
import IndicatorBackends
@testable import BackendConfiguration
@testable import IndicatorMQTT
import IndicatorCommands
import TestSupport

@Suite struct MQTTNamesTests {
    @Test(arguments: [
        ("mqtt://broker", "broker", 1883, false), ("mqtts://broker.example", "broker.example", 8883, true),
        ("mqtt://10.0.0.1:18830/", "10.0.0.1", 18830, false), ("mqtts://[fe80::1%eth0]:1", "fe80::1%eth0", 1, true),
    ])
    func `An address is read`(text: String, host: String, port: Int, usesTLS: Bool) throws {
        let url = try MQTTURL(text)
        #expect((url.host, url.port, url.usesTLS) == (host, port, usesTLS))
        #expect(try MQTTURL(url.description) == url)
    }

    @Test(arguments: [
        "", "broker", "http://broker", "mqtt://", "mqtt://broker:0", "mqtt://broker:65536", "mqtt://broker:x",
        "mqtt://broker/path", "mqtt://a b", "mqtt://[::1", "mqtt://me:hush@broker", "MQTT://broker", "mqtt://broker:",
        "mqtt://broker:+1", "mqtt://::1", "mqtt://[]", "mqtt://[::1]1", "mqtt://[::1]]", "mqtt://broker:1:2",
        "mqtt://:1", "mqtt://broker:99999999999999999999", "mqtts://.example",
        "mqtt://" + String(repeating: "a", count: 256),
    ])
    func `What is no address is rejected without quoting it`(text: String) {
        let error = #expect(throws: MQTTError.self) { _ = try MQTTURL(text) }
        #expect(error?.description.contains("hush") == false)
    }

    @Test(arguments: [
        "a/b+c#d$e%f", "web-1.example.org", "my app *>", "", "\u{1}\n\u{7F}\u{85}", "Büro 7 🦊", "\u{FFFF}",
        String(repeating: "/", count: 500), "\u{301}accent", "\u{200D}joiner", "\u{FE0F}",
    ])
    func `Names are escaped and read again`(name: String) throws {
        let topic = MQTTTopic(prefix: "indicator/1", host: name, app: name, instance: "1-2")
        let level = MQTTTopic.level(name)
        #expect(topic.state == "indicator/1/\(level)/\(level)/1-2" && level.unicodeScalars.count <= 3 * 128)
        #expect(topic.state.utf8.count { $0 == UInt8(ascii: "/") } == 4)
        #expect(!topic.state.contains { "+#$.*> ".contains($0) })
        #expect(topic.state.unicodeScalars.allSatisfy { $0.value >= 32 && $0.value != 127 })
        for (text, content) in [(topic.state, MQTTTopic.Content.state), (topic.events, .events), (topic.lost, .lost)] {
            #expect(try #require(MQTTTopic.parse(text, prefix: "indicator/1")) == (topic, content))
        }
    }

    @Test(arguments: [
        "indicator/1", "indicator/1/", "indicator/1/h", "indicator/1/h/a", "indicator/1/h/a/", "indicator/1/h//i",
        "indicator/1/h/a/i/other", "indicator/1/h/a/i/events/x", "indicator/2/h/a/i", "indicator/1/%/a/i",
        "indicator/1/%FF/a/i", "indicator/1/%41/a/i", "indicator/1/a.b/a/i", "indicator/1/a/a b/i",
    ])
    func `Topics of strangers are not read`(text: String) {
        #expect(MQTTTopic.parse(text, prefix: "indicator/1") == nil)
    }

    @Test func `No description shows a password`() {
        var settings = MQTTSettings(url: try! MQTTURL("mqtt://x"))
        settings.password = .text("hush")
        var dumped = ""
        dump(settings, to: &dumped)
        for text in ["\(settings)", String(reflecting: settings), dumped, "\(settings.password!)"] {
            #expect(!text.contains("hush"), "\(text)")
        }
    }

    @Test func `Configuration errors and the table of settings do not show a password`() throws {
        let environment = ["INDICATOR_MQTT_PASSWORD": "hush", "INDICATOR_BACKENDS": "mqtt", "HOME": "/nonexistent"]
        let source = ConfigurationSource(for: "x", environment: environment)
        let configuration = try IndicatorConfiguration.load(from: source)
        let values = configuration.settings.filter { $0.key.hasPrefix("mqtt.") }
        #expect(values.first { $0.key == "mqtt.password" }?.value == "(hidden)")
        #expect(!"\(configuration.settings)".contains("hush"))
        for url in ["mqtt://me:hush@broker", "mqtt//me:hush@broker", "me:hush@broker"] {
            let error = #expect(throws: ConfigurationError.self) {
                let environment = environment.merging(["INDICATOR_MQTT_URL": url]) { $1 }
                _ = try IndicatorConfiguration.load(from: ConfigurationSource(for: "x", environment: environment))
            }
            #expect(error.map { "\($0)".contains("hush") } == false)
            #expect(error.map { "\($0)".contains("broker") } == true)
        }
    }

    @Test func `With a wrong address, nothing is sent to the default one`() async throws {
        let environment = ["INDICATOR_BACKENDS": "mqtt", "INDICATOR_MQTT_URL": "http://broker.example"]
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let source = ConfigurationSource(for: "x", environment: environment, isReloaded: false, logger: logger)
        let indicator = IndicatorManager.configured(from: source)
        #expect(indicator.configurationProblems.count == 1)
        #expect(indicator.backendStatuses.isEmpty)
        await indicator.shutdown()
    }

    @Test func `The longest report is not too long`() throws {
        let activities = (0..<16).map { _ in
            ActivityDetails(label: String(repeating: "\u{1F98A}", count: 1000), progress: 1 / 3)
        }
        var snapshot = IndicatorSnapshot(state: .active, activityCount: .max, activities: activities)
        snapshot.activities[0].attention = String(repeating: "\\", count: 1000)
        let report = MQTTReport(snapshot, epoch: 1, seq: 1)
        let payload = report.payload
        #expect(payload.count < 32768)
        #expect(try payload.withUnsafeBytes { try MQTTReport($0) } == report)
    }
}
#endif
