#if MQTT
import TestSupport

@testable import IndicatorMQTT

/// An indicator without delays that publishes to a broker, by default at once.
struct Publication {
    let manager: IndicatorManager
    let topic: String

    init(_ settings: MQTTSettings, app: String = "app") throws {
        let backend = MQTTBackend(applicationName: app, settings: settings)
        (manager, topic) = (IndicatorManager(delays: .zero, backends: [backend]), backend.topic.state)
    }

    init(_ broker: MosquittoBroker) throws { try self.init(MQTTSettings(broker.url)) }

    private var status: BackendStatus { manager.backendStatuses[0] }

    /// Waits until it is connected.
    func runs() async -> Bool { await eventually { status.state == .running } }

    /// Waits until its state or its last error contains a text.
    func reports(_ text: String) async -> Bool {
        await eventually { "\(status.state) \(status.lastError ?? "")".contains(text) }
    }
}

/// Runs an indicator until its state or its last error contains a text.
func expect(_ text: String, with settings: MQTTSettings) async throws {
    let app = try Publication(settings)
    #expect(await app.reports(text), "\(app.manager.backendStatuses)")
    #expect(!"\(app.manager.backendStatuses)".contains("hush"), "the password")
    await app.manager.shutdown()
}

extension MQTTSettings {
    /// The settings for a broker, to which each change is published.
    init(_ url: String, host: String = "h") throws {
        self.init(url: try MQTTURL(url))
        (self.host, interval) = (host, .zero)
    }
}

/// A broker, and an indicator that has published the activity "Before" to it. At the end, the indicator is shut down,
/// and nothing remains at the broker, unless that is too busy to acknowledge it within 0.7 s: it publishes the will.
func withPublication(
    _ settings: String = "",
    _ body: (MosquittoBroker, Publication, ManagedActivity) async throws -> Void
) async throws {
    let broker = try await MosquittoBroker(settings: settings)
    let publication = try Publication(broker)
    let activity = ManagedActivity("Before", in: publication.manager)
    #expect(try await broker.retains("Before", at: publication.topic))
    try await body(broker, publication, activity)
    activity.end()
    await publication.manager.shutdown()
    try await expectEventually {
        let left = try await broker.retained()
        return left.isEmpty || left[publication.topic + "/lost"] != nil
    }
}

/// A server of a few lines of Python that only seems to be a broker, and the settings for it.
func fakeBroker(_ script: String, _ mode: String = "") async throws -> (server: Daemon, settings: MQTTSettings) {
    let address = try LoopbackAddress()
    return (try await Daemon.python(script, at: address, mode), try MQTTSettings(address.mqtt))
}
#endif
